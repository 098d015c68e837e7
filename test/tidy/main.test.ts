import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

test('a forbidden import is named by plain Node, in a tree that no compiler could build', () => {
  const root = mkdtempSync(join(tmpdir(), 'waybill-tidy-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const files = {
    '.gitignore': 'node_modules/\n',
    'packages/core/src/index.ts': "import { createKafka } from '@waybill/kafka'\n",
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const main = join(import.meta.dirname, 'main.ts')
  const { status, stdout } = spawnSync(process.execPath, [main, root], { encoding: 'utf8' })
  expect(stdout).toMatch(/^packages\/core\/src\/index\.ts:1 .*@waybill\/kafka/m)
  expect(stdout).toContain('Why: The table keeps core free of dependencies')
  expect(status).toBe(1)
})
