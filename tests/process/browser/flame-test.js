/* SPDX-License-Identifier: MIT */
/* Uses a flame graph like somebody with a mouse and a keyboard, and says what there was to see each time.
   views-flame.py adds it to the picture, with the number of the box that is clicked and the words to search for. */
"use strict";
(function () {
    var settings = JSON.parse(document.documentElement.getAttribute("data-test"));
    var groups = Array.prototype.slice.call(document.querySelectorAll("g.b"));
    var seen = {};

    function look(name) {
        seen[name] = {
            boxes: groups.map(function (group) {
                var rect = group.querySelector("rect"), text = group.querySelector("text");
                return {
                    shown: group.style.display !== "none", x: Number(rect.getAttribute("x")),
                    width: Number(rect.getAttribute("width")), text: text ? text.textContent : "",
                    dim: group.classList.contains("dim"), hit: group.classList.contains("hit")
                };
            }),
            matched: document.getElementById("flame-matched").textContent,
            details: document.getElementById("flame-details").textContent,
            idle: document.getElementById("flame-reset").classList.contains("idle"),
            active: groups.indexOf(document.activeElement)
        };
    }

    function click(node) {
        node.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    }

    function press(node, key) {
        node.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true, cancelable: true }));
    }

    function search(words) {
        var input = document.getElementById("flame-search");
        input.value = words;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    }

    look("start");
    click(groups[settings.box].querySelector("rect"));
    look("zoomed");
    press(groups[settings.box], "Escape");
    look("escaped");
    click(groups[settings.box].querySelector("rect"));
    click(document.getElementById("flame-reset"));
    look("reset");
    groups[settings.box].dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    look("pointed");
    search(settings.words);
    look("searched");
    search("(");
    look("literal");
    search("");
    look("cleared");
    groups[0].focus();
    press(groups[0], settings.inwards);
    look("inwards");
    press(document.activeElement, "Enter");
    look("entered");
    press(document.activeElement, settings.outwards);
    look("outwards");
    document.documentElement.setAttribute("data-result", encodeURIComponent(JSON.stringify(seen)));
})();
