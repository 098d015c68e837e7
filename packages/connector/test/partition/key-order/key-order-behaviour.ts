/** What a binding with `orderingMode: KEY` promises, by nothing but a connector: the same on a simulated cluster and Apache Kafka. */

import { Buffer } from 'node:buffer'
import { type KafkaClient, requireAllDone } from '@waybill/kafka'
import { expect, test } from 'vitest'
import type { Binding } from '../../../src/api/binding.ts'
import type { Connector } from '../../../src/api/connector.ts'
import { releaseRecord, replayRecord, type WaitingPlace } from '../../../src/partition/key-order/waiting-record.ts'
import { type BehaviourPlace, BehaviourScene, type InPlace } from '../../support/behaviour-scene.ts'

interface Handled {
  readonly key: string
  readonly id: string
}

/** A handler whose calls for an id fail as often as the id says: `a3/2` fails twice, `a3/x` always. */
function scripted() {
  const handled: Handled[] = []
  const calls = new Map<string, number>()
  return {
    handled,
    calls,
    mended: new Set<string>(),
    handler(record: { readonly key: Buffer | null; readonly value: Buffer | null }): void {
      const id = String(record.value)
      const called = (calls.get(id) ?? 0) + 1
      calls.set(id, called)
      const failures = id.split('/')[1] ?? '0'
      if (!this.mended.has(id) && (failures === 'x' || called <= Number(failures))) throw new Error(`${id} fails`)
      handled.push({ key: String(record.key), id })
    },
  }
}

const idOf = (key: string, round: number): string => `${key}-${round}${round % 3 === 0 ? '/1' : ''}`

/** Declares the tests. */
export function testKeyOrder(inPlace: InPlace): void {
  const inScene = (
    partitions: number,
    given: Partial<Binding>,
    program: (scene: Scene) => Promise<void>,
  ): Promise<void> =>
    inPlace(async (place) => {
      await using scene = new Scene(place, await place.createTopic(partitions), given)
      await program(scene)
    })

  test('keys keep their order through retries, dead letters and restarts, and nothing is repeated by a clean stop', () =>
    inScene(2, {}, async (scene) => {
      const keys = ['a', 'b', 'c', 'd']
      const ids = keys.flatMap((key) => ['0/1', '1', '2/x', '3/2', '4'].map((rest) => ({ key, id: `${key}${rest}` })))
      const first = await scene.start()
      await scene.write(ids.filter(({ id }) => !id.includes('4')))
      await scene.until(() => expect(scene.script.handled.length).toBeGreaterThan(1))
      await first.stop()
      await scene.write(ids.filter(({ id }) => id.includes('4')))
      await scene.start()
      await scene.until(() => expect(scene.script.handled).toHaveLength(keys.length * 4))
      for (const key of keys) expect(scene.idsOf(key)).toEqual([`${key}0/1`, `${key}1`, `${key}3/2`, `${key}4`])
    }))

  test('a dead record blocks its key until it is released or replayed, when it is told to', () =>
    inScene(1, { keyOrder: { onDeadKey: 'BLOCK' } }, async (scene) => {
      await scene.start()
      const written = await scene.write([
        { key: 'a', id: 'a0/x' },
        { key: 'a', id: 'a1' },
        { key: 'b', id: 'b0/x' },
        { key: 'b', id: 'b1' },
        { key: 'c', id: 'c0' },
      ])
      await scene.until(() => expect(scene.idsOf('c')).toEqual(['c0']))
      await scene.until(async () => expect(await scene.dead()).toBe(2n))
      expect([scene.idsOf('a'), scene.idsOf('b')]).toEqual([[], []])
      const originalOf = (index: number) => ({
        offset: written[index]?.offset as bigint,
        timestamp: scene.timestamp,
        key: Buffer.from(index === 0 ? 'a' : 'b'),
      })
      await scene.append(releaseRecord(scene.waitingPlace, originalOf(0), 0))
      scene.script.mended.add('b0/x')
      await scene.append(
        replayRecord(scene.waitingPlace, originalOf(2), 1, { value: Buffer.from('b0/x'), headers: [] }),
      )
      await scene.until(() => expect(scene.idsOf('a')).toEqual(['a1']))
      await scene.until(() => expect(scene.idsOf('b')).toEqual(['b0/x', 'b1']))
    }))

  test('keys keep their order while instances come and go, and every one has an outcome', () =>
    inScene(4, {}, async (scene) => {
      const keys = Array.from({ length: 8 }, (_, index) => `k${index}`)
      const rounds = [0, 1, 2, 3, 4, 5]
      const instances: Connector[] = [await scene.start()]
      for (const round of rounds) {
        await scene.write(keys.map((key) => ({ key, id: idOf(key, round) })))
        if (round === 1) instances.push(await scene.start())
        if (round === 3) await instances[0]?.stop()
        if (round === 4) instances.push(await scene.start())
      }
      // A session that ends on a slow machine repeats records, and the later ones of their keys behind them.
      const firsts = (key: string): string[] => [...new Set(scene.idsOf(key))]
      await scene.until(() => expect(keys.flatMap(firsts)).toHaveLength(keys.length * rounds.length))
      for (const key of keys) expect(firsts(key)).toEqual(rounds.map((round) => idOf(key, round)))
    }))
}

class Scene extends BehaviourScene {
  readonly script = scripted()
  readonly waitingPlace: WaitingPlace
  /** Of all records written here. */
  readonly timestamp: number
  readonly #given: Partial<Binding>

  constructor(place: BehaviourPlace, topic: string, given: Partial<Binding>) {
    super(place, topic)
    this.#given = given
    this.timestamp = place.runtime.clock.now()
    const { groupId } = this
    const waiting = { topic: `${topic}.${groupId}.waiting`, partition: 0 }
    this.waitingPlace = { source: { topic, partition: 0 }, waiting, groupId }
  }

  start(): Promise<Connector> {
    return this.startWith({
      handler: (record) => this.script.handler(record),
      orderingMode: 'KEY',
      parallelism: 'KEY',
      sessionTimeoutMs: 30_000,
      heartbeatIntervalMs: 500,
      circuitBreaker: { enabled: false },
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 2 }] },
      ...this.#given,
    })
  }

  async write(records: readonly { readonly key: string; readonly id: string }[]) {
    const producer = this.place.client.producer('EVENT')
    const sending = records.map(({ key, id }) =>
      producer.send({ topic: this.topic, key: Buffer.from(key), value: Buffer.from(id), timestamp: this.timestamp }),
    )
    const written = await Promise.all(sending)
    await producer.close()
    return written
  }

  async append(record: Parameters<ReturnType<KafkaClient['producer']>['send']>[0]): Promise<void> {
    const producer = this.place.client.producer('DEAD_LETTER')
    await producer.send(record)
    await producer.close()
  }

  /** What succeeded of a key, in its order. */
  idsOf(key: string): string[] {
    return this.script.handled.flatMap((one) => (one.key === key ? [one.id] : []))
  }

  /** How many dead letters there are; one partition. */
  async dead(): Promise<bigint | null | undefined> {
    const ends = await this.place.client.admin.listOffsets([{ topic: `${this.topic}.DLT`, partition: 0 }], 'LATEST')
    return requireAllDone('dead letters', ends)[0]?.offset
  }
}
