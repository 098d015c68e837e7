/**
 * Types are tested in files called `x.types.test.ts`: they contain code that must compile, and `@ts-expect-error` above
 * code that must not. These tests show that `npm run check:types` notices when one of them stops being true.
 */
import { globSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTemporaryFolder, repository } from './support/fresh-workspace.ts'
import { run } from './support/run.ts'

const tsc = join(repository, 'node_modules', '.bin', 'tsc')
const configuration = join(repository, 'tsconfig.dev.json')

test('the type check reads every type test', async () => {
  const typeTests = globSync('packages/*/test/**/*.types.test.ts', { cwd: repository })
  const read = await run(tsc, ['-p', configuration, '--listFilesOnly'], repository)
  expect(read.split('\n')).toEqual(expect.arrayContaining(typeTests.map((path) => join(repository, path))))
})

test('@ts-expect-error passes where the error is there', async () => {
  await expect(typeCheck('// @ts-expect-error a text is no number\nexport const size: number = "1"\n')).resolves.toBe(
    '',
  )
})

test('@ts-expect-error fails where the error has gone', async () => {
  const checked = typeCheck('// @ts-expect-error a text is no number\nexport const size: number = 1\n')
  await expect(checked).rejects.toThrow(/size\.types\.test\.ts\(1,1\): error TS2578/)
})

/** Checks one type test as `npm run check:types` would. */
async function typeCheck(code: string): Promise<string> {
  const folder = await createTemporaryFolder()
  try {
    const include = ['size.types.test.ts']
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: configuration, compilerOptions: { types: [] }, include }),
    )
    await writeFile(join(folder, 'size.types.test.ts'), code)
    return await run(tsc, ['-p', folder], folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
