// Work for an allocator, done by node: buffers inside and outside V8's heap, JSON, typed arrays, zlib, crypto, worker
// threads, child processes, streams and files. Prints only what two runs have in common.
'use strict';
const assert = require('assert');
const childProcess = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');
const { pipeline } = require('stream/promises');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  next() {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return this.state >>> 8;
  }
}

const digest = (data) => crypto.createHash('sha256').update(data).digest('hex').slice(0, 16);

function fill(length, seed) {
  const random = new Random(seed);
  const buffer = Buffer.alloc(length);
  for (let i = 0; i < length; i++) buffer[i] = 32 + (random.next() % 64);
  return buffer;
}

function buffers() {
  const random = new Random(1);
  const window = [];
  const hash = crypto.createHash('sha256');
  for (let i = 0; i < 20000; i++) {
    const length = random.next() % (i % 100 === 0 ? 300000 : 2000);
    window.push(Buffer.alloc(length, i % 251));
    if (window.length > 200) hash.update(window.shift());
  }
  const joined = Buffer.concat(window);
  const shared = new SharedArrayBuffer(1 << 20);
  new Uint32Array(shared).fill(7);
  const text = joined.toString('base64');
  return [hash.digest('hex').slice(0, 16), joined.length, digest(text), digest(Buffer.from(shared))];
}

function json() {
  const random = new Random(2);
  const tree = {};
  for (let i = 0; i < 20000; i++) {
    const key = `key${random.next() % 3000}`;
    (tree[key] = tree[key] || []).push({ i, text: 'x'.repeat(random.next() % 50), nested: { list: [i, [i + 1]] } });
  }
  const text = JSON.stringify(tree);
  const back = JSON.parse(text);
  assert.deepStrictEqual(back, tree);
  return [Object.keys(back).length, text.length, digest(text)];
}

function compression() {
  const data = fill(400000, 3);
  const results = [];
  for (const level of [1, 6, 9]) {
    const packed = zlib.deflateSync(data, { level });
    assert(zlib.inflateSync(packed).equals(data));
    results.push(digest(packed));
  }
  const brotli = zlib.brotliCompressSync(data, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } });
  assert(zlib.brotliDecompressSync(brotli).equals(data));
  return results.concat(digest(brotli));
}

function cryptography() {
  const key = crypto.scryptSync('a password', 'some salt', 32, { N: 1024 });
  const cipher = crypto.createCipheriv('aes-256-gcm', key, Buffer.alloc(12, 5));
  const sealed = Buffer.concat([cipher.update(fill(300000, 4)), cipher.final(), cipher.getAuthTag()]);
  const { publicKey, privateKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const signature = crypto.sign('sha256', sealed, privateKey);
  return [digest(key), digest(sealed), crypto.verify('sha256', sealed, publicKey, signature)];
}

function collections() {
  const random = new Random(5);
  const map = new Map();
  for (let i = 0; i < 100000; i++) {
    map.set(random.next() % 20000, `value ${i}`);
    if (i % 3 === 0) map.delete(random.next() % 20000);
  }
  const matches = [...map.values()].join(' ').match(/\b\d*7\d*\b/g);
  const numbers = Float64Array.from({ length: 50000 }, () => random.next() / 7).sort();
  return [map.size, matches.length, numbers[25000].toFixed(6)];
}

async function asynchronousPool() {
  const jobs = [];
  for (let i = 0; i < 40; i++) {
    jobs.push(new Promise((resolve, reject) =>
      zlib.gzip(fill(20000 + i, i), (error, packed) => (error ? reject(error) : resolve(digest(packed))))));
    jobs.push(new Promise((resolve, reject) =>
      crypto.pbkdf2('p', `s${i}`, 500, 64, 'sha512', (error, key) => (error ? reject(error) : resolve(digest(key))))));
  }
  return digest((await Promise.all(jobs)).join());
}

async function files() {
  const original = path.join(process.cwd(), 'node_script.tmp');
  const copy = `${original}.2`;
  fs.writeFileSync(original, fill(500000, 6));
  const steps = [fs.createReadStream(original), zlib.createGzip(), zlib.createGunzip(), fs.createWriteStream(copy)];
  await pipeline(...steps);
  const same = fs.readFileSync(original).equals(fs.readFileSync(copy));
  fs.unlinkSync(original);
  fs.unlinkSync(copy);
  return same;
}

// Buffers are transferred: allocated on one thread, freed on another.
function workers() {
  const one = (id) => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: { id } });
    const received = [];
    worker.on('message', (array) => received.push(digest(Buffer.from(array.buffer))));
    worker.on('error', reject);
    worker.on('exit', (code) => resolve(`${code}:${digest(received.join())}`));
  });
  return Promise.all([1, 2, 3, 4].map(one));
}

function workerMain() {
  for (let i = 0; i < 50; i++) {
    const array = new Uint8Array(10000 * workerData.id + i).fill(i);
    parentPort.postMessage(array, [array.buffer]);
  }
}

function children() {
  const echo = ['-e', 'process.stdin.pipe(process.stdout)'];
  const echoed = childProcess.execFileSync(process.execPath, echo, { input: fill(100000, 7) });
  const failed = childProcess.spawnSync(process.execPath, ['-e', 'process.exit(9)']);
  return [digest(echoed), failed.status, childProcess.execSync('echo from a shell').toString().trim()];
}

async function main() {
  const parts = [buffers, json, compression, cryptography, collections, asynchronousPool, files, workers, children];
  for (const part of parts) {
    console.log(part.name, [].concat(await part()).join(' '));
  }
  console.error('to the error stream');
  process.exitCode = 4;
}

if (isMainThread) main();
else workerMain();
