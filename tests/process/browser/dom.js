/* SPDX-License-Identifier: MIT */
/* Runs the scripts of an SVG picture where there is no browser: node dom.js FILE.json, the elements as views-flame.py
   wrote them. As little of the DOM as the picture and its test use; prints the attribute data-result of the picture. */
"use strict";
const fs = require("fs");
const vm = require("vm");

let active = null;

class Element {
    constructor(tag, attributes, text) {
        this.tagName = tag;
        this.attributes = new Map(Object.entries(attributes || {}));
        this.own = text || "";
        this.children = [];
        this.parentNode = null;
        this.style = {};
        this.value = "";
        this.listeners = {};
        const names = () => new Set((this.getAttribute("class") || "").split(/\s+/).filter(Boolean));
        const store = set => this.setAttribute("class", [...set].join(" "));
        this.classList = {
            contains: name => names().has(name),
            add: name => store(names().add(name)),
            toggle: (name, on) => { const set = names(); if (on) set.add(name); else set.delete(name); store(set); }
        };
    }
    getAttribute(name) { return this.attributes.has(name) ? this.attributes.get(name) : null; }
    setAttribute(name, value) { this.attributes.set(name, String(value)); }
    appendChild(child) { child.parentNode = this; this.children.push(child); return child; }
    get textContent() { return this.own + this.children.map(child => child.textContent).join(""); }
    set textContent(text) { this.own = String(text); this.children = []; }
    contains(node) { while (node && node !== this) node = node.parentNode; return node === this; }
    all() { return this.children.flatMap(child => [child, ...child.all()]); }
    matches(selector) {
        const [tag, name] = selector.split(".");
        return this.tagName === tag && (!name || this.classList.contains(name));
    }
    querySelectorAll(selector) { return this.all().filter(element => element.matches(selector)); }
    querySelector(selector) { return this.querySelectorAll(selector)[0] || null; }
    addEventListener(type, listener) { (this.listeners[type] = this.listeners[type] || []).push(listener); }
    dispatchEvent(event) {
        event.target = this;
        for (let at = this; at; at = at.parentNode)
            for (const listener of at.listeners[event.type] || [])
                listener.call(at, event);
        return !event.prevented;
    }
    focus() { active = this; this.dispatchEvent(new Event("focusin")); }
}

class Event {
    constructor(type, settings) { Object.assign(this, { type, prevented: false }, settings); }
    preventDefault() { this.prevented = true; }
}

function build(node) {
    const element = new Element(node.tag, node.attributes, node.text);
    for (const child of node.children)
        element.appendChild(build(child));
    return element;
}

const root = build(JSON.parse(fs.readFileSync(process.argv[2], "utf8")));
const document = {
    documentElement: root,
    querySelector: selector => root.matches(selector) ? root : root.querySelector(selector),
    querySelectorAll: selector => root.querySelectorAll(selector),
    getElementById: id => root.all().find(element => element.getAttribute("id") === id) || null,
    createElementNS: (space, tag) => new Element(tag),
    get activeElement() { return active; }
};
root.clientWidth = Number(root.getAttribute("data-window"));
const window = { addEventListener() {} };
const world = vm.createContext({ document, window, Event, MouseEvent: Event, KeyboardEvent: Event });
for (const script of root.querySelectorAll("script"))
    vm.runInContext(script.textContent, world);
process.stdout.write(root.getAttribute("data-result") || "");
