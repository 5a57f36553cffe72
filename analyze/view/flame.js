/* SPDX-License-Identifier: MIT */
/* What makes the picture of 'panalyze flame' answer: zoom, search, details, keys. It is part of each picture, and
   nothing is loaded from anywhere. Without it the picture is complete as it stands. */
"use strict";
(function () {
    var LETTER = 6.6, GAP = 3, LEAST_LETTERS = 4, SEAM = 0.5, LEAST_WIDTH = 0.1; /* as in flame_svg.c */
    var LONGEST_INNER = 1024; /* as in brief.c */
    var svg = document.querySelector("svg.flame");
    var details = document.getElementById("flame-details");
    var matched = document.getElementById("flame-matched");
    var input = document.getElementById("flame-search");
    var reset = document.getElementById("flame-reset");
    var tools = document.getElementById("flame-tools");
    var left = Number(svg.getAttribute("data-left")), drawn = Number(svg.getAttribute("data-width")), width = drawn;
    var height = Number(svg.getAttribute("height"));
    var down = svg.getAttribute("data-hanging") === "1"; /* callers above */
    var boxes = [], whole, zoomed, focused;

    function readBox(group) {
        var title = group.querySelector("title").textContent, end = title.indexOf("\n");
        var x = Number(group.getAttribute("data-x")), weight = Number(group.getAttribute("data-w"));
        return {
            group: group, rect: group.querySelector("rect"), text: group.querySelector("text"), title: title,
            name: end < 0 ? title : title.slice(0, end), level: Number(group.getAttribute("data-l")),
            x: x, end: x + weight, weight: weight, shown: true, hit: false,
            folded: group.classList.contains("folded")
        };
    }

    /* As in brief.c: "(...)" for what a function is called with, "<...>" for a template's arguments. */
    function behindBrackets(name, from) {
        for (var at = from, depth = 0; at < name.length; at++) {
            if ("<([{".indexOf(name[at]) >= 0)
                depth++;
            else if (")]}".indexOf(name[at]) >= 0 || name[at] === ">" && name[at - 1] !== "-")
                depth--;
            if (depth === 0 && at > from)
                return at + 1;
        }
        return 0;
    }

    function isArgument(name, at) {
        return at > 0 && /[A-Za-z0-9_>:)\]}$]/.test(name[at - 1]) && (name[at] === "<" || name[at - 1] !== ":");
    }

    function fold(name, templates) {
        var folded = "", at = 0, nameEnd = 0, closed = true;
        while (at < name.length) {
            var symbol = name.slice(at - 8 < 0 ? 0 : at - 8, at) === "operator" &&
                /^(<=>|<<=|>>=|->|<<|>>|<=|>=|<|>|\(\))/.exec(name.slice(at));
            var behind = 0;
            if (symbol) {
                folded += symbol[0];
                at += symbol[0].length;
                nameEnd = at;
                continue;
            }
            if (closed && (name[at] === "(" || templates && name[at] === "<") &&
                (isArgument(name, at) || at > 0 && at === nameEnd))
                closed = (behind = behindBrackets(name, at)) > 0;
            if (!behind || behind <= at + 5) { /* "(...)" is no shorter */
                folded += name[at++];
                continue;
            }
            folded += name[at] + "..." + name[behind - 1];
            at = behind;
        }
        return folded;
    }

    function innerName(name, from) {
        for (var at = from, depth = 0; at < name.length; at++) {
            if ("<([{".indexOf(name[at]) >= 0)
                depth++;
            else if (")]}".indexOf(name[at]) >= 0 || name[at] === ">" && at > from && name[at - 1] !== "-")
                depth -= depth > 0 ? 1 : 0;
            if (depth === 0 && at > from && name.slice(at, at + 2) === "::")
                return at + 2;
        }
        return name.length;
    }

    function withoutNamespaces(name, room) {
        if (name.length > LONGEST_INNER)
            return name;
        for (var at = innerName(name, 0); at < name.length; at = innerName(name, at))
            if (3 + name.length - at <= room)
                return "..." + name.slice(at);
        return name;
    }

    function shorten(name, pixels) {
        var room = Math.floor((pixels - 2 * GAP) / LETTER), brief = name;
        if (room < LEAST_LETTERS)
            return "";
        if (brief.length > room)
            brief = fold(name, false);
        if (brief.length > room)
            brief = fold(name, true);
        if (brief.length > room)
            brief = withoutNamespaces(brief, room);
        return brief.length <= room ? brief : brief.slice(0, room - 3) + "...";
    }

    function percent(weight) {
        return (100 * weight / whole.weight).toFixed(2) + " %";
    }

    function place(box, x, pixels, dim) {
        pixels = pixels > 4 * SEAM ? pixels - SEAM : Math.max(pixels, LEAST_WIDTH);
        box.rect.setAttribute("x", x.toFixed(2));
        box.rect.setAttribute("width", pixels.toFixed(2));
        if (!box.text) {
            box.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
            box.text.setAttribute("y", Number(box.rect.getAttribute("y")) + 12);
            box.group.appendChild(box.text);
        }
        box.text.setAttribute("x", (x + GAP).toFixed(2));
        box.text.textContent = shorten(box.name, pixels);
        box.group.classList.toggle("dim", dim);
    }

    function zoom(to) {
        var scale = width / to.weight;
        zoomed = to;
        boxes.forEach(function (box) {
            var above = box.level < to.level && box.x <= to.x && box.end >= to.end;
            box.shown = above || (box.level >= to.level && box.x >= to.x && box.end <= to.end);
            box.group.style.display = box.shown ? "" : "none";
            if (above)
                place(box, left, width, true);
            else if (box.shown)
                place(box, left + (box.x - to.x) * scale, box.weight * scale, false);
        });
        reset.classList.toggle("idle", to === whole);
        svg.setAttribute("data-zoomed", to.name);
    }

    /* As wide as the window; without one (or in a narrow one) as it was drawn. */
    function fit() {
        var room = document.documentElement.clientWidth || 0;
        var now = Math.max(drawn, room - 2 * left);
        if (now === width)
            return;
        width = now;
        svg.setAttribute("viewBox", "0 0 " + (width + 2 * left) + " " + height);
        tools.setAttribute("transform", "translate(" + (width - drawn) + ",0)");
        zoom(zoomed);
    }

    function tester(words) {
        try {
            var pattern = new RegExp(words, "i");
            return function (box) { return pattern.test(box.name); };
        } catch (error) { /* no regular expression: the words as they are */
            return function (box) { return box.name.toLowerCase().indexOf(words.toLowerCase()) >= 0; };
        }
    }

    /* Boxes stand in the order of the tree: what lies in a box that is counted is not counted again. */
    function search(words) {
        var test = words ? tester(words) : function () { return false; };
        var count = 0, weight = 0, counted = -1;
        boxes.forEach(function (box) {
            box.hit = box !== whole && !box.folded && test(box);
            box.group.classList.toggle("hit", box.hit);
            if (!box.hit)
                return;
            count++;
            if (box.x >= counted) {
                weight += box.weight;
                counted = box.end;
            }
        });
        var number = count + (count === 1 ? " box" : " boxes");
        matched.textContent = !words ? "" : "Matched: " + percent(weight) + " in " + number;
    }

    function show(box) {
        details.textContent = box ? box.title.split("\n").join("   ") : "";
    }

    function focusOn(box) {
        if (!box)
            return;
        if (focused)
            focused.group.setAttribute("tabindex", "-1");
        focused = box;
        box.group.setAttribute("tabindex", "0");
        box.group.focus();
        show(box);
    }

    function contains(outer, inner) {
        return outer.x <= inner.x && outer.end >= inner.end;
    }

    function first(test) {
        for (var i = 0; i < boxes.length; i++)
            if (boxes[i].shown && test(boxes[i]))
                return boxes[i];
        return null;
    }

    function beside(from, step) {
        for (var i = boxes.indexOf(from) + step; i >= 0 && i < boxes.length; i += step)
            if (boxes[i].shown && boxes[i].level === from.level)
                return boxes[i];
        return null;
    }

    function outer(from) {
        return first(function (box) { return box.level === from.level - 1 && contains(box, from); });
    }

    function inner(from) {
        return first(function (box) { return box.level === from.level + 1 && contains(from, box); });
    }

    function boxOf(node) {
        while (node && node !== svg && !(node.classList && node.classList.contains("b")))
            node = node.parentNode;
        return first(function (box) { return box.group === node; });
    }

    function clear() {
        input.value = "";
        search("");
    }

    function onKey(event) {
        var from = boxOf(event.target) || focused || whole, typing = event.target === input;
        if (event.key === "/" && !typing || event.key === "f" && (event.ctrlKey || event.metaKey))
            input.focus();
        else if (event.key === "Escape" && typing)
            clear();
        else if (typing)
            return;
        else if (event.key === "Escape" || (event.key === "Enter" || event.key === " ") && event.target === reset)
            zoom(whole);
        else if (event.key === "Enter" || event.key === " ")
            zoom(from);
        else if (event.key === "ArrowLeft")
            focusOn(beside(from, -1));
        else if (event.key === "ArrowRight")
            focusOn(beside(from, 1));
        else if (event.key === "ArrowUp" || event.key === "ArrowDown")
            focusOn((event.key === "ArrowDown") === down ? inner(from) : outer(from));
        else
            return;
        event.preventDefault();
    }

    function onClick(event) {
        var box = boxOf(event.target);
        if (box) {
            zoom(box);
            focusOn(box);
        } else if (reset.contains(event.target)) {
            zoom(whole);
        }
    }

    function onHover(event) {
        show(boxOf(event.target) || focused);
    }

    boxes = Array.prototype.map.call(svg.querySelectorAll("g.b"), readBox);
    whole = zoomed = boxes[0];
    if (!whole)
        return;
    boxes.forEach(function (box) {
        box.group.setAttribute("role", "button");
        box.group.setAttribute("tabindex", box === whole ? "0" : "-1");
    });
    svg.classList.add("lively");
    svg.addEventListener("click", onClick);
    svg.addEventListener("keydown", onKey);
    svg.addEventListener("mouseover", onHover);
    svg.addEventListener("focusin", onHover);
    input.addEventListener("input", function () { search(input.value); });
    window.addEventListener("resize", fit);
    fit();
})();
