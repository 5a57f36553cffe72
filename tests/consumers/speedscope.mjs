// SPDX-License-Identifier: MIT
// node speedscope.mjs PACKAGE FILE...: has speedscope's own importer read each FILE, and prints what it made of them:
// [{name, unit, total, frames: {NAME: {self, total}}}] of all profiles. PACKAGE is the directory of the npm package.
//
// The package has its program as one bundle for browsers. The importer in it is handed out before the page is made.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

function loadImporter(directory) {
  const release = path.join(directory, 'dist', 'release');
  const bundle = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name));
  let code = fs.readFileSync(path.join(release, bundle), 'utf8');
  const exports = code.match(/([\w$]+)=\{\};[\w$]+\(\1,\{importFromFileSystemDirectoryEntry:/)[1];
  const start = code.match(new RegExp(`then\\(\\(\\)=>\\(([\\w$]+)\\(\\),${exports.replace('$', '\\$')}\\)\\)`))[1];
  const page = code.lastIndexOf('console.log(`speedscope v');
  code = `${code.slice(0, page)}globalThis.importer=()=>(${start}(),${exports});return;${code.slice(page)}`;
  const nothing = () => {};
  const element = () => ({ style: {}, sheet: { insertRule: nothing, cssRules: [] }, appendChild: nothing,
    setAttribute: nothing, getContext: () => null, styleSheet: {} });
  const document = { createElement: element, head: element(), body: element(), addEventListener: nothing,
    querySelector: () => null, querySelectorAll: () => [], documentElement: element() };
  const window = { addEventListener: nothing, location: { hash: '', protocol: 'file:', href: 'file:///', search: '' },
    matchMedia: () => ({ matches: false, addListener: nothing, addEventListener: nothing }), document,
    localStorage: { getItem: () => null, setItem: nothing }, devicePixelRatio: 1, navigator: { userAgent: '' } };
  // The program tells on the console how long it took; stdout is for the answer.
  const quiet = new Proxy(console, { get: (target, key) => (key === 'error' ? target.error : nothing) });
  const context = vm.createContext({ window, document, location: window.location, navigator: window.navigator,
    localStorage: window.localStorage, console: quiet, setTimeout, clearTimeout, TextDecoder, TextEncoder, Uint8Array,
    URL, WebAssembly, atob, requestAnimationFrame: nothing, DecompressionStream, Blob, Response, performance, fetch });
  context.self = window;
  vm.runInContext(code, context, { filename: bundle });
  return context.importer();
}

function describe(profile) {
  const frames = {};
  profile.forEachFrame(frame => {
    frames[frame.name] = { self: frame.getSelfWeight(), total: frame.getTotalWeight(), file: frame.file };
  });
  return { name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(), frames };
}

const importer = loadImporter(process.argv[2]);
const answer = [];
for (const file of process.argv.slice(3)) {
  const group = await importer.importProfileGroupFromText(path.basename(file), fs.readFileSync(file, 'utf8'));
  if (!group)
    throw new Error(`${file}: speedscope does not know the format`);
  answer.push(...group.profiles.map(describe));
}
process.stdout.write(JSON.stringify(answer));
