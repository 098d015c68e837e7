import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiReport } from '../../scripts/lib/api-report.ts'
import { publicPackages } from '../../scripts/lib/public-packages.ts'
import { createFreshWorkspace, type FreshWorkspace, repository } from './support/fresh-workspace.ts'
import { run } from './support/run.ts'

let workspace: FreshWorkspace

beforeAll(async () => {
  workspace = await createFreshWorkspace()
}, 120_000)

afterAll(() => workspace?.[Symbol.asyncDispose]())

describe.each(publicPackages(repository))('$name', (each) => {
  const report = (): string => apiReport(each, (path) => readFileSync(join(workspace.root, each.folder, path), 'utf8'))

  test('has the public API that its committed snapshot shows', async () => {
    const file = `etc/${each.shortName}.api.md`
    const committed = await readFile(join(repository, file), 'utf8').catch(() => '')
    expect(report(), `The public API differs from ${file}. Run \`npm run api\` and review the difference.`).toBe(
      committed,
    )
  })

  test('has every value it exports at run time in its report', async () => {
    const specifiers = each.entries.map(({ specifier }) => specifier)
    const script = `
      const modules = await Promise.all(${JSON.stringify(specifiers)}.map((specifier) => import(specifier)))
      console.log(JSON.stringify(modules.map((module) => Object.keys(module))))
    `
    const atRunTime = JSON.parse(
      await run(process.execPath, ['--input-type=module', '-e', script], workspace.root),
    ) as string[][]
    const sections = report()
      .split(/^## .*$/m)
      .slice(1)
    expect(sections).toHaveLength(specifiers.length)
    for (const [index, names] of atRunTime.entries()) {
      expect(names.filter((name) => !new RegExp(`^export .*\\b${name}\\b`, 'm').test(sections[index] ?? ''))).toEqual(
        [],
      )
    }
  })
})
