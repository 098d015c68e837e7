import { defineEvents, encodeEvent, fromJsonSchema } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { defineProjection } from '@waybill/projection'
import { Ajv } from 'ajv'

const ajv = new Ajv()
const text = { type: 'string' } as const

/** The credits of accounts. */
export const ledger = defineEvents({
  FundsCredited: {
    topic: 'ledger',
    schema: fromJsonSchema<{ accountId: string; amount: number }>(
      {
        type: 'object',
        properties: { accountId: text, amount: { type: 'integer' } },
        required: ['accountId', 'amount'],
      },
      ajv,
    ),
    key: ({ accountId }) => accountId,
  },
})

/** A balance in minor units, and the number of credits. */
export const balances = defineProjection({
  name: 'bench_balance',
  events: ledger,
  state: fromJsonSchema<{ balance: number; credits: number }>(
    { type: 'object', properties: { balance: { type: 'integer' }, credits: { type: 'integer' } } },
    ajv,
  ),
  columns: { balance: 'integer', credits: 'integer' },
  keyColumn: 'account_id',
}).on({
  FundsCredited: (state, { payload }) => ({
    balance: (state?.balance ?? 0) + payload.amount,
    credits: (state?.credits ?? 0) + 1,
  }),
})

/** Returns the records of so many events on so many keys, in the order of a log. */
export async function ledgerRecords(events: number, keys: number): Promise<readonly KafkaRecord[]> {
  const versions = new Map<string, number>()
  const records: KafkaRecord[] = []
  for (let offset = 0; offset < events; offset++) {
    const accountId = `account-${String((offset * 7919) % keys).padStart(7, '0')}`
    const aggregateVersion = (versions.get(accountId) ?? 0) + 1
    versions.set(accountId, aggregateVersion)
    const envelope = await encodeEvent(ledger, 'FundsCredited', { accountId, amount: 1 }, { aggregateVersion })
    const record = ledger.wireFormat.encode(envelope)
    records.push({ topic: 'ledger', partition: 0, offset: BigInt(offset), timestamp: 0, epoch: 1, ...record })
  }
  return records
}
