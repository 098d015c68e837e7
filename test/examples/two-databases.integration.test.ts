import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const example = join(import.meta.dirname, '../../examples/two-databases')
const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@waybill/source']

test('two databases in one process keep apart what they write, deliver and measure, as the README shows', async () => {
  const readme = await readFile(join(example, 'README.md'), 'utf8')
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, join(example, 'src/main.ts')])
  expect(stdout).toBe(/^```text\n(.*?)^```/ms.exec(readme)?.[1])
})
