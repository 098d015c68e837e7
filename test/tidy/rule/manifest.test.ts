import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import type { Manifest } from '../workspace.ts'
import { manifestRule } from './manifest.ts'

const entry = { '@waybill/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' }

const sound: Manifest = {
  name: '@waybill/core',
  version: '1.0.0',
  license: 'Apache-2.0',
  type: 'module',
  engines: { node: '>=22.22.0' },
  sideEffects: false,
  files: ['dist', '!dist/.tsbuildinfo', 'src'],
  exports: { '.': entry, './package.json': './package.json' },
}

function findings(manifest: Manifest, files: Record<string, string> = {}): string[] {
  const tree = treeOf({
    'package.json': '{ "workspaces": ["packages/*"] }',
    'packages/a/package.json': JSON.stringify(manifest),
    'packages/a/src/index.ts': '',
    ...files,
  })
  return findingsIn(manifestRule, tree)
}

test('a sound manifest is fine', () => {
  expect(findings(sound)).toEqual([])
})

test('core may know an optional peer, which installs nothing', () => {
  const peer = { peerDependencies: { ajv: '^8' }, peerDependenciesMeta: { ajv: { optional: true } } }
  expect(findings({ ...sound, ...peer })).toEqual([])
})

test('a dependency that the README explains is fine', () => {
  const admin = { ...sound, name: '@waybill/admin', dependencies: { fastify: '5.0.0' } }
  expect(findings(admin, { 'packages/a/README.md': 'fastify serves the API' })).toEqual([])
})

test('a private package is not looked at', () => {
  expect(findings({ private: true })).toEqual([])
})

describe('a finding is', () => {
  const { types, ...untyped } = entry
  const { exports: _, ...unexported } = sound
  test.each<[string, Manifest, string]>([
    ['another module system', { ...sound, type: 'commonjs' }, 'must have "type": "module"'],
    ['another license', { ...sound, license: 'MIT' }, 'must have "license": "Apache-2.0"'],
    ['another Node', { ...sound, engines: { node: '>=20' } }, 'must have "engines"'],
    ['side effects', { ...sound, sideEffects: true }, 'must have "sideEffects": false'],
    ['sources left out', { ...sound, files: ['dist'] }, 'must have "files"'],
    ['tests shipped', { ...sound, files: ['dist', 'src', 'test'] }, 'must have "files"'],
    ['no exports', unexported, 'must export "./package.json"'],
    [
      'an entry without types',
      { ...sound, exports: { ...sound.exports, '.': untyped } },
      'must export "." with @waybill/source, types, default in this order',
    ],
    [
      'an entry whose conditions are out of order',
      { ...sound, exports: { ...sound.exports, '.': { types, ...untyped } } },
      'must export "." with @waybill/source, types, default in this order',
    ],
    ['an entry without conditions', { ...sound, exports: { ...sound.exports, './a': './a.js' } }, 'with conditions'],
    [
      'an entry built from another file',
      { ...sound, exports: { ...sound.exports, '.': { ...entry, default: './dist/main.js' } } },
      'as what is built from ./src/index.ts',
    ],
    [
      'an entry without a source',
      {
        ...sound,
        exports: {
          ...sound.exports,
          './b': { '@waybill/source': './src/b.ts', types: './dist/b.d.ts', default: './dist/b.js' },
        },
      },
      'exports "./b" from ./src/b.ts, which does not exist',
    ],
    ['a dependency of core', { ...sound, dependencies: { zod: '1' } }, 'core depends on nothing'],
    ['a demanded peer of core', { ...sound, peerDependencies: { zod: '1' } }, 'core depends on nothing'],
    ['an unexplained dependency', { ...sound, name: '@waybill/a', dependencies: { pg: '1' } }, 'must say what for'],
  ])('%s', (_title, manifest, reason) => {
    expect(findings(manifest)).toEqual([expect.stringContaining(reason)])
  })

  test('a version of its own', () => {
    const second = { ...sound, name: '@waybill/b', version: '2.0.0' }
    expect(
      findings(sound, { 'packages/b/package.json': JSON.stringify(second), 'packages/b/src/index.ts': '' }),
    ).toEqual(['packages/b/package.json:1 must have the version of @waybill/core: all share one'])
  })

  test('a range where all packages are tested as one version', () => {
    const second = { ...sound, name: '@waybill/b', dependencies: { '@waybill/core': '^1.0.0' } }
    expect(
      findings(sound, { 'packages/b/package.json': JSON.stringify(second), 'packages/b/src/index.ts': '' }),
    ).toEqual(['packages/b/package.json:1 must depend on @waybill/core 1.0.0, not ^1.0.0'])
  })

  test('a package that is no workspace', () => {
    expect(findings(sound, { 'package.json': '{ "workspaces": ["packages/b"] }' })).toEqual([
      'packages/a/package.json:1 must be listed under workspaces in the root package.json',
    ])
  })
})
