/** Finds out which records of a producer are in a topic, by their keys and values: nothing else numbers them. */

import type { NumberedTopics } from '../passes/numbered-topics.ts'
import { keyOf, keys, payloads } from './payloads.ts'

/** The keys and the values repeat in periods that give each of this many records a pair of its own. */
const mostRecords = 640_000

/**
 * Counts the copies of each of the `count` records of {@link measureProduce}. Ignores the record with the number `count`,
 * which opens the connections.
 *
 * @throws Error if the topic has another record
 */
export async function copiesOf(
  topics: NumberedTopics,
  topic: string,
  count: number,
  valueBytes: number,
): Promise<Uint8Array> {
  if (count >= mostRecords) throw new Error(`At most ${mostRecords - 1} records can be told apart.`)
  const values = payloads(valueBytes)
  const valueNumbers = new Map(values.map((value, number) => [startOf(value), number]))
  const pairNumber = (key: Buffer, valueNumber: number): number => numberOf(key) * values.length + valueNumber
  const numbers = new Int32Array(keys.length * values.length).fill(-1)
  for (let index = 0; index <= count; index++) numbers[pairNumber(keyOf(index), index % values.length)] = index
  const copies = new Uint8Array(count)
  await topics.read(topic, (key, value) => {
    const number = numbers[pairNumber(key, valueNumbers.get(startOf(value)) ?? Number.NaN)] ?? -1
    if (number < 0) throw new Error('The topic has a record that was not written by this contestant.')
    if (number < count) copies[number] = (copies[number] as number) + 1
  })
  return copies
}

/** The random start of a value, which no other of the values has. */
function startOf(value: Buffer): string {
  return value.toString('latin1', 0, 32)
}

function numberOf(key: Buffer): number {
  return Number(key.toString('latin1', 4))
}
