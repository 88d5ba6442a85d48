#!/usr/bin/env node
// Compiles a Kaitai Struct description to Python: node compile_ksy.js IN.ksy OUTDIR
//
// Needs the npm packages kaitai-struct-compiler (0.11) and js-yaml, in node_modules here, in a folder
// above, in the current folder, or in $NODE_PATH.
'use strict';

const fs = require('fs');
const path = require('path');

function load(name) {
  const elsewhere = (process.env.NODE_PATH || '').split(path.delimiter).filter(Boolean);
  return require(require.resolve(name, { paths: [__dirname, process.cwd(), ...elsewhere] }));
}

async function main(args) {
  if (args.length !== 2) {
    console.error('usage: compile_ksy.js IN.ksy OUTDIR');
    return 2;
  }
  const [input, outdir] = args;
  const imported = load('kaitai-struct-compiler');
  const compiler = imported.default || imported;
  const description = load('js-yaml').load(fs.readFileSync(input, 'utf8'));
  const importer = {
    importYaml: (name) => Promise.reject(new Error(`${input}: cannot import ${name}`)),
  };
  // Up to 0.10 the package was a class with a method, since 0.11 it is an object with a function.
  const api = typeof compiler.compile === 'function' ? compiler : new compiler();
  const files = await api.compile('python', description, importer, false);
  fs.mkdirSync(outdir, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    fs.writeFileSync(path.join(outdir, name), text);
    console.log(path.join(outdir, name));
  }
  return 0;
}

main(process.argv.slice(2)).then(
  (status) => process.exit(status),
  (error) => {
    console.error(`compile_ksy.js: ${error && error.message ? error.message : error}`);
    process.exit(1);
  },
);
