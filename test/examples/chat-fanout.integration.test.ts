import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const example = join(import.meta.dirname, '../../examples/chat-fanout')
const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@waybill/source']

test('S2-030 S2-068 S2-082 chat clients end with every message in order, though deliveries are skipped and a worker is gone', {
  timeout: 120_000,
}, async () => {
  const readme = await readFile(join(example, 'README.md'), 'utf8')
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, join(example, 'src/main.ts')])
  expect(stdout).toBe(/^```text\n(.*?)^```/ms.exec(readme)?.[1])
})
