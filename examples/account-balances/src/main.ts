/**
 * Runs the example, and compares the read model with the ledger.
 *
 *     --real   on real services: Kafka in KAFKA_BOOTSTRAP, PostgreSQL in DATABASE_URL
 *     --json   prints the result as one line
 */

import { parseArgs } from 'node:util'
import { describeThrown } from '@waybill/core'
import type { Account } from './account/account-table.ts'
import { openEmbedded, openReal } from './stage.ts'
import { type Ending, playStory } from './story.ts'

const { KAFKA_BOOTSTRAP = '127.0.0.1:9092', DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env
const { values } = parseArgs({ options: { real: { type: 'boolean' }, json: { type: 'boolean' } } })

try {
  const ending = await (values.real === true ? onReal() : onEmbedded())
  say(values.json === true ? JSON.stringify(ending) : textOf(ending))
  process.exitCode = differences(ending).length === 0 ? 0 : 1
} catch (error) {
  process.stderr.write(`The example failed: ${describeThrown(error)}\n`)
  process.exitCode = 1
}

async function onEmbedded(): Promise<Ending> {
  await using stage = await openEmbedded()
  return await playStory(stage, narrate)
}

async function onReal(): Promise<Ending> {
  await using stage = await openReal({ kafka: KAFKA_BOOTSTRAP, postgres: DATABASE_URL })
  return await playStory(stage, narrate)
}

/** Returns the accounts of the ledger whose rows of the read model are not the same. */
function differences({ ledger, readModel }: Ending): readonly Account[] {
  const rows = new Map(readModel.map((row) => [row.accountId, JSON.stringify(row)]))
  return ledger.filter((account) => rows.get(account.accountId) !== JSON.stringify(account))
}

function textOf(ending: Ending): string {
  const { readModel, repeated, deadLetters, quarantined, audited } = ending
  const lines = readModel.map(({ accountId, balance, reserved, currency, status, version }) =>
    [
      accountId.padEnd(8),
      String(balance).padStart(8),
      String(reserved).padStart(8),
      currency,
      status,
      `v${version}`,
    ].join(' '),
  )
  const wrong = differences(ending)
  return [
    '6  The read model',
    ...lines.map((line) => `   ${line}`),
    `   ${repeated} repeated, ${deadLetters} dead letters, quarantined: ${quarantined.join(', ')}`,
    `   in the audit log: ${audited.join(', ')}`,
    wrong.length === 0
      ? '   It equals the ledger.'
      : `   It differs from the ledger: ${wrong.map((one) => one.accountId).join(', ')}`,
  ].join('\n')
}

function narrate(text: string): void {
  if (values.json !== true) say(text)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
