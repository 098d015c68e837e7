import { encodeEvent, type InputOf, RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { accounts } from './test-accounts.ts'

type Definitions = (typeof accounts)['definitions']
type AccountSchemas = { readonly [N in keyof Definitions]: Definitions[N]['schema'] }

/** Returns the record of an event, as a publisher writes it. */
export async function recordOf<N extends keyof AccountSchemas>(
  name: N,
  payload: InputOf<AccountSchemas, N>,
  aggregateVersion: number | undefined,
  offset: number,
  partition = 0,
): Promise<KafkaRecord> {
  const envelope = await encodeEvent(accounts, name, payload, { aggregateVersion })
  const { key, value, headers } = accounts.wireFormat.encode(envelope)
  return { topic: 'accounts', partition, offset: BigInt(offset), timestamp: 0, epoch: 1, key, value, headers }
}

/** Returns the records of one account: `AccountOpened` with a balance of 0, then a credit for each amount. */
export async function history(accountId: string, amounts: readonly number[], firstOffset = 0): Promise<KafkaRecord[]> {
  const open = await recordOf('AccountOpened', { accountId, balance: '0', currency: 'EUR' }, 1, firstOffset)
  const credits = amounts.map((amount, index) =>
    recordOf('FundsCredited', { accountId, amount: String(amount) }, index + 2, firstOffset + index + 1),
  )
  return [open, ...(await Promise.all(credits))]
}

/** Returns a record that is no event of the catalog. */
export function strangeRecord(offset: number, fields: Partial<KafkaRecord> = {}): KafkaRecord {
  const [key, value] = [Buffer.from('a'), Buffer.from('{}')]
  const headers = RecordHeaders.empty
  return {
    topic: 'accounts',
    partition: 0,
    offset: BigInt(offset),
    timestamp: 0,
    epoch: 1,
    key,
    value,
    headers,
    ...fields,
  }
}
