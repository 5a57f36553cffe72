/* SPDX-License-Identifier: MIT */
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** 200 threads that compute, allocate, and report to the first one: 2 s on two CPUs. */
public class Threads {
    private static final int THREADS = 200, PARTS = 3, STEPS = 3000000, NUMBERS = 2000;

    private static long mix(long value) {
        for (int i = 0; i < STEPS; i++)
            value = value * 6364136223846793005L + (value >>> 17) + i;
        return value;
    }

    private static long work(int number) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < NUMBERS; i++)
            text.append(i);
        return mix(number) + text.length();
    }

    public static void main(String[] arguments) throws InterruptedException {
        BlockingQueue<Long> parts = new LinkedBlockingQueue<>();
        for (int i = 0; i < THREADS; i++) {
            final int number = i;
            new Thread(() -> {
                for (int part = 0; part < PARTS; part++)
                    parts.add(work(number));
            }).start();
        }
        long sum = 0;
        for (int i = 0; i < THREADS * PARTS; i++)
            sum += parts.take();
        System.out.println(sum);
    }
}
