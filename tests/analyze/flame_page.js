// Runs the script of a flame graph without a browser: the little of a document that it uses, made from the picture's elements.
// Standard input: {"elements": tree, "script": text, "hash": "#...", "steps": [[what, id, number or text]...]}
// Standard output: after each step what can be seen.
'use strict';

const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));

class Element {
  constructor(name) { this.name = name; this.attributes = {}; this.childNodes = []; this.listeners = {}; this.text = ''; }
  getAttribute(key) { return key in this.attributes ? this.attributes[key] : null; }
  setAttribute(key, value) { this.attributes[key] = String(value); }
  appendChild(child) { this.childNodes.push(child); }
  removeChild(child) { this.childNodes.splice(this.childNodes.indexOf(child), 1); }
  addEventListener(kind, listener) { this.listeners[kind] = listener; }
  get textContent() { return this.text; }
  set textContent(text) { this.text = text; this.childNodes = []; }
  find(id) {
    if (this.attributes.id === id) return this;
    for (const child of this.childNodes) {
      const found = child.find(id);
      if (found) return found;
    }
    return null;
  }
}

function build(tree) {
  const element = new Element(tree.name);
  element.attributes = tree.attributes;
  element.text = tree.text;
  element.childNodes = tree.children.map(build);
  return element;
}

const root = build(input.elements);
const keys = {};
globalThis.document = {
  getElementById: (id) => root.find(id),
  createElementNS: (space, name) => new Element(name),
  addEventListener: (kind, listener) => { keys[kind] = listener; },
};
globalThis.location = {hash: input.hash};
new Function(input.script)();

const frames = root.find('frames').childNodes;
function look() {
  return {
    frames: frames.map((frame) => ({x: +frame.getAttribute('x'), width: +frame.getAttribute('width'),
      shown: frame.getAttribute('display') !== 'none', hit: / hit\b/.test(frame.getAttribute('class')),
      above: / above\b/.test(frame.getAttribute('class'))})),
    labels: root.find('labels').childNodes.map((label) => label.textContent),
    about: root.find('about').textContent,
    result: root.find('result').textContent,
    reset: root.find('reset').getAttribute('display'),
    search: root.find('search').value || '',
  };
}

const seen = [look()];
for (const [what, which] of input.steps) {
  if (what === 'key') {
    keys.keydown({key: which});
  } else if (what === 'search') {
    root.find('search').value = which;
    root.find('search').listeners.input();
  } else {
    (typeof which === 'number' ? frames[which] : root.find(which)).listeners[what]();
  }
  seen.push(look());
}
console.log(JSON.stringify(seen));
