import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { contractPath, contractsOf, readContract } from '@waybill/contract'
import { events } from '@waybill/example-account-balances/events'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'

const example = join(import.meta.dirname, '../../examples/account-balances')
const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@waybill/source']

async function run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const command = [...flags, join(example, 'src/main.ts'), ...args]
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: { ...process.env, ...environment } })
  return stdout
}

test('S3-019 S3-020 account balances equal the ledger through repeats, an outage, a gap and an unsupported currency, as the README shows', {
  timeout: 120_000,
}, async () => {
  const readme = await readFile(join(example, 'README.md'), 'utf8')
  expect(await run([])).toBe(/^```text\n(.*?)^```/ms.exec(readme)?.[1])
})

test('the contract files of account balances are those of its catalog', async () => {
  for (const contract of contractsOf(events)) {
    const path = contractPath(contract)
    const { vendorVersion: _, ...file } = readContract(path, await readFile(join(example, 'schemas', path), 'utf8'))
    expect(file).toEqual(contract)
  }
})

describeWith('kafka', 'postgres')('account balances on real services', ({ kafka, postgres }) => {
  test('account balances equal the ledger on Kafka and PostgreSQL', { timeout: 180_000 }, async () => {
    const environment = { KAFKA_BOOTSTRAP: kafka.bootstrap.join(), DATABASE_URL: postgres.url.replace(/\?.*/, '') }
    const { ledger, readModel, deadLetters, quarantined } = JSON.parse(await run(['--real', '--json'], environment))
    expect(readModel.slice(0, 3)).toEqual(ledger)
    expect({ deadLetters, quarantined }).toEqual({ deadLetters: 3, quarantined: ['dave'] })
  })
})
