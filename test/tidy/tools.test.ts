/**
 * Some rules of this repository are enforced by oxlint and knip. These tests plant violations that the tools must find
 * with the settings of this repository: a setting that no longer matches would pass everything.
 */

import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const repository = join(import.meta.dirname, '..', '..')

const workspace = {
  'package.json': JSON.stringify({
    name: 'root',
    workspaces: ['packages/a', 'packages/b'],
    devDependencies: { vitest: '1', zod: '1' },
  }),
  'packages/a/package.json': JSON.stringify({
    name: '@waybill/a',
    exports: { '.': { '@waybill/source': './src/index.ts', default: './dist/index.js' } },
    devDependencies: { pg: '1' },
  }),
  'packages/a/tsconfig.json': JSON.stringify({ compilerOptions: { rootDir: 'src', outDir: 'dist' } }),
  'packages/b/package.json': JSON.stringify({ name: '@waybill/b', exports: { '.': './src/index.ts' } }),
  'packages/b/src/index.ts': 'export const b = 1\n',
}

/** Runs a tool of this repository, with its settings, in a workspace of these files. */
function run(tool: string, args: readonly string[], files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'waybill-tools-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const [path, text] of Object.entries({ ...workspace, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  for (const name of ['.oxlintrc.json', 'knip.jsonc', 'knip.published.jsonc']) {
    cpSync(join(repository, name), join(root, name))
  }
  return spawnSync(join(repository, 'node_modules', '.bin', tool), args, { cwd: root, encoding: 'utf8' }).stdout
}

test('oxlint finds cycles of values, types and re-exports, and a module of Node without its prefix', () => {
  const found = run('oxlint', ['-f', 'unix'], {
    'packages/a/src/value-one.ts': "import { two } from './value-two.ts'\nexport const one = (): unknown => two\n",
    'packages/a/src/value-two.ts': "import { one } from './value-one.ts'\nexport const two = (): unknown => one\n",
    'packages/a/src/type-one.ts': "import type { Two } from './type-two.ts'\nexport type One = Two[]\n",
    'packages/a/src/type-two.ts': "import type { One } from './type-one.ts'\nexport interface Two {\n  one: One\n}\n",
    'packages/a/src/list-one.ts': "import { again } from './list-two.ts'\nexport const one = (): unknown => again\n",
    'packages/a/src/list-two.ts': "export { one as again } from './list-one.ts'\n",
    'packages/a/src/builtin.ts': "import { join } from 'path'\nexport const joined = join\n",
  })
  const cycles = found.split('\n').filter((line) => line.includes('import(no-cycle)'))
  expect(cycles.map((line) => /[\w-]+\.ts/.exec(line)?.[0] ?? '').toSorted()).toEqual([
    'list-one.ts',
    'list-two.ts',
    'type-one.ts',
    'type-two.ts',
    'value-one.ts',
    'value-two.ts',
  ])
  expect(found).toMatch(/builtin\.ts.*prefer-node-protocol/)
})

const published = ['--no-progress', '--no-config-hints', '--config', 'knip.published.jsonc', '--production', '--strict']

test('knip finds nothing in a package that reaches its files and declares its imports', () => {
  const files = {
    'packages/a/src/index.ts': "import './reached.ts'\nexport const a = 1\n",
    'packages/a/src/reached.ts': "import 'node:fs'\n",
    'packages/a/test/a.test.ts': "import '../src/index.ts'\nimport 'pg'\n",
  }
  expect(run('knip', published, files)).toBe('')
})

test('knip finds code that only a test reaches, and imports that are not declared where they ship', () => {
  const found = run('knip', published, {
    'packages/a/src/index.ts': "import './tool.ts'\nimport './dev.ts'\nimport './type.ts'\nimport './lazy.ts'\n",
    'packages/a/src/tool.ts': "import 'zod'\n",
    'packages/a/src/dev.ts': "import 'pg'\n",
    'packages/a/src/type.ts': "import type { b } from '@waybill/b'\nexport type B = typeof b\n",
    'packages/a/src/lazy.ts': "await import('@waybill/b')\n",
    'packages/a/src/orphan.ts': 'export const orphan = 1\n',
    'packages/a/test/orphan.test.ts': "import { orphan } from '../src/orphan.ts'\norphan.toFixed()\n",
  })
  const lines = found.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' ').replace(/:.*/, ''))
  expect(lines).toEqual([
    'Unused files (1)',
    'packages/a/src/orphan.ts',
    'Unlisted dependencies (4)',
    'pg packages/a/src/dev.ts',
    '@waybill/b packages/a/src/lazy.ts',
    'zod packages/a/src/tool.ts',
    '@waybill/b packages/a/src/type.ts',
    '',
  ])
})

test('knip finds an undeclared import in a test', () => {
  const files = {
    'packages/a/src/index.ts': 'export const a = 1\n',
    'packages/a/test/a.test.ts': "import 'mysql2'\nimport 'pg'\nimport 'zod'\nimport '@waybill/b'\n",
  }
  const found = run('knip', ['--no-progress', '--no-config-hints'], files)
  expect(found).toMatch(/^mysql2 +packages\/a\/test\/a\.test\.ts/m)
  expect(found).not.toMatch(/^(?:pg|zod|@waybill\/b) /m)
})
