import type { KafkaClient } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { readPage } from '../../src/records/read-record.ts'
import { connectorWorld } from '../support/connector-world.ts'

const at = (offset: bigint) => ({ topic: 'orders', partition: 0, offset })
const values = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`)

test('a page knows the records that were read, and none behind the last of them', () =>
  connectorWorld(async ({ sim, client, write }) => {
    sim.createTopic('orders')
    await write('orders', values(600))
    const page = await readPage(client, at(10n), 600n)
    expect(page.at(10n)?.value?.toString()).toBe('10')
    expect([9n, 10n, 509n, 510n, 599n].map((offset) => page.covers(offset))).toEqual([false, true, true, false, false])
  }))

test('a page without records knows that there are none', () =>
  connectorWorld(async ({ sim, client, write }) => {
    sim.createTopic('orders')
    await write('orders', values(5))
    sim.deleteRecords('orders', 0, 4n)
    const page = await readPage(client, at(1n), 3n)
    expect([page.covers(1n), page.covers(2n), page.covers(3n), page.at(1n)]).toEqual([true, true, false, undefined])
  }))

test('an abort closes the reader, which ends a read that no broker answers', () =>
  connectorWorld(async ({ sim, client, write, sleep }) => {
    sim.createTopic('orders')
    await write('orders', values(1))
    let isClosed = false
    const reader: KafkaClient['reader'] = (ranges) => {
      const inner = client.reader(ranges)
      const close = async (): Promise<void> => {
        isClosed = true
        await inner.close()
      }
      return { next: (count) => inner.next(count), close, [Symbol.asyncDispose]: close }
    }
    using _ = sim.stall({ api: 'Fetch', client: 'connector' })
    const leaving = new AbortController()
    const reading = readPage({ reader }, at(0n), 1n, leaving.signal)
    const outcome = reading.catch((error: unknown) => error)
    await sleep(100)
    expect(isClosed).toBe(false)
    leaving.abort(new Error('revoked'))
    expect(isClosed).toBe(true)
    expect(await outcome).toBeInstanceOf(Error)
  }))
