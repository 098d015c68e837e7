/** Tests `decode` of bindings through a connector only, on a simulated cluster and on Apache Kafka. */

import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import type { StoredDeadLetter } from '../../src/api/dead-letter-types.ts'
import { defineBinding } from '../../src/api/define-binding.ts'
import { BehaviourScene, type InPlace } from '../support/behaviour-scene.ts'

const order = z.object({ id: z.string(), count: z.number().int() })
const json = (id: string): Buffer => Buffer.from(JSON.stringify({ id, count: 1 }))
/** Bytes that are no order, beside what the dead letter says of them. */
const broken = [
  [Buffer.from('{"id":'), /The value is not JSON/],
  [Buffer.from([0x7b, 0xff, 0xfe]), /The value is not UTF-8/],
  [Buffer.from('{"id":7,"count":1}'), /violates its schema: id: /],
  [Buffer.alloc(0), /The value is not JSON/],
] as const

type Rest = Omit<Binding, 'topic' | 'groupId' | 'handler' | 'decode'>

class Scene extends BehaviourScene {
  start(binding: Omit<Binding, 'topic' | 'groupId'>): Promise<Connector> {
    return this.startWith(binding)
  }

  async write(values: readonly (Buffer | null)[]): Promise<void> {
    await using producer = this.place.client.producer('EVENT')
    const key = Buffer.from('o-1')
    await Promise.all(values.map((value) => producer.send({ topic: this.topic, partition: 0, key, value })))
  }

  async untilHandled(connector: Connector, count: bigint): Promise<void> {
    await this.until(async () => {
      const rows = (await connector.audit()).filter(({ topic }) => topic === this.topic)
      if (rows[0]?.committed !== count) throw new Error(`${rows[0]?.committed} of ${count} records are committed.`)
    })
  }
}

async function lettersOf(connector: Connector): Promise<readonly StoredDeadLetter[]> {
  const letters: StoredDeadLetter[] = []
  for await (const letter of connector.admin.deadLetters('shipping', { by: 'tests' })) letters.push(letter)
  return letters
}

/** The bindings that must treat such records alike. */
const kinds: readonly (readonly [string, (handled: string[]) => Binding])[] = [
  ['one by one', (handled) => single(handled, {})],
  ['in the order of the partition', (handled) => single(handled, { orderingMode: 'STRICT' })],
  ['in the order of each key', (handled) => single(handled, { orderingMode: 'KEY', parallelism: 'KEY' })],
  ['in transactions', (handled) => single(handled, { transactional: true })],
  ['in batches', (handled) => batched(handled, {})],
  ['in batches, in the order of the partition', (handled) => batched(handled, { orderingMode: 'STRICT' })],
]

function single(handled: string[], rest: Rest): Binding {
  return defineBinding({
    ...rest,
    topic: '',
    groupId: '',
    decode: order,
    handler: ({ value }) => void handled.push(value?.id ?? 'none'),
  })
}

function batched(handled: string[], rest: Rest): Binding {
  return defineBinding({
    ...rest,
    topic: '',
    groupId: '',
    listenerType: 'BATCH',
    decode: order,
    handler: {
      handleBatch: (records) => void handled.push(...records.map(({ value }) => value?.id ?? 'none')),
    },
  })
}

/** Runs the suite in a place. */
export function testDecode(inPlace: InPlace): void {
  test.each(kinds)(
    'S0-054 S0-080 S0-158 C-16 I10 a value that cannot be decoded is a dead letter with its bytes and without a call, and the others are handled: %s',
    (_, bindingOf) =>
      inPlace(async (place) => {
        await using scene = new Scene(place, await place.createTopic(1))
        const handled: string[] = []
        const { topic: _topic, groupId: _groupId, ...binding } = bindingOf(handled)
        await scene.write([
          json('a'),
          broken[0][0],
          null,
          broken[1][0],
          json('b'),
          broken[2][0],
          broken[3][0],
          json('c'),
        ])
        const connector = await scene.start(binding)
        await scene.untilHandled(connector, 8n)
        expect(handled).toEqual(['a', 'none', 'b', 'c'])
        const letters = await lettersOf(connector)
        expect(letters.map(({ record }) => record.originalOffset)).toEqual([1n, 3n, 5n, 6n])
        for (const [at, { record }] of letters.entries()) {
          const [bytes, why] = broken[at] as (typeof broken)[number]
          expect(record).toMatchObject({
            dltReason: 'NON_RETRYABLE',
            totalAttempts: 0,
            lastExceptionClass: 'DeserializationError',
            lastExceptionMessage: expect.stringMatching(why),
            tierHistory: [],
          })
          expect([record.key, record.value]).toEqual([Buffer.from('o-1'), bytes])
        }
        expect(await connector.audit()).toContainEqual(
          expect.objectContaining({ topic: scene.topic, ok: 4n, dead: 4n, missing: 0n }),
        )
      }),
  )
}
