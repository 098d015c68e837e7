import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readRepository } from './read-repository.ts'

test('the repository is every file that .gitignore does not name', () => {
  const root = mkdtempSync(join(tmpdir(), 'waybill-tidy-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const paths = ['.ci/run', 'a.ts', 'packages/x/src/b.ts', 'packages/x/dist/b.js', 'x.tgz', '.git/config', 'dist.md']
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), path)
  }
  writeFileSync(join(root, '.gitignore'), '# comment\ndist/\n*.tgz\n')

  const tree = readRepository(root)

  expect([...tree.keys()].toSorted()).toEqual(['.ci/run', '.gitignore', 'a.ts', 'dist.md', 'packages/x/src/b.ts'])
  expect(tree.get('packages/x/src/b.ts')).toBe('packages/x/src/b.ts')
})
