/** The tests of dead letter operations, for a simulated cluster and for Apache Kafka. */

import { Buffer } from 'node:buffer'
import { NonRetryableError, RecordHeaders } from '@waybill/core'
import { type KafkaRecord, type OutRecord, requireAllDone } from '@waybill/kafka'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { PurgeReport } from '../../src/api/dead-letter-admin.ts'
import type { EventBusAdmin } from '../../src/api/event-bus-admin.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import type { OtherGroupsDeadLettersError } from '../../src/replay/purge-errors.ts'
import { findSharedTopics } from '../../src/replay/shared-topics.ts'
import type { BehaviourPlace, InPlace } from '../support/behaviour-scene.ts'
import { openAdministration } from '../support/open-administration.ts'

const operator = { by: 'test' }
const patience = { deadlineMs: 60_000 }

/** A connector whose handler fails permanently until `isFixed`. */
export class ReplayScene {
  readonly place: BehaviourPlace
  readonly topic: string
  readonly groupId: string
  readonly handled: { readonly value: string; readonly replay: string | undefined; readonly tier: number }[] = []
  readonly admin: EventBusAdmin
  isFixed = false
  readonly #connector: ReturnType<typeof createConnector>

  constructor(place: BehaviourPlace, topic: string, given: Partial<Binding>) {
    this.place = place
    this.topic = topic
    this.groupId = `${topic}-group`
    this.#connector = createConnector({
      administration: openAdministration,
      clusters: { default: place.client },
      runtime: place.runtime,
      bindings: {
        work: {
          topic,
          groupId: this.groupId,
          retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }, { delayMs: 300 }] },
          handler: ({ value }, { headers, tier }) => {
            if (!this.isFixed) throw new NonRetryableError(`${String(value)} is not handled`)
            this.handled.push({ value: String(value), replay: headers.text('x-eventbus-replay-count'), tier })
          },
          ...given,
        },
      },
    })
    this.admin = this.#connector.admin
  }

  get dlt(): string {
    return `${this.topic}.DLT`
  }

  start(): Promise<void> {
    return this.#connector.start()
  }

  async stop(): Promise<void> {
    await this.#connector.stop()
  }

  until(assertion: () => void | Promise<void>): Promise<void> {
    return eventually(assertion, { runtime: this.place.runtime, ...patience })
  }

  async write(records: readonly (Partial<OutRecord> & { readonly value: Buffer | null })[]): Promise<void> {
    await using producer = this.place.client.producer('EVENT')
    for (const record of records) await producer.send({ topic: this.topic, key: null, ...record })
  }

  /** Writes values, and waits until they are dead letters. */
  async bury(values: readonly string[]): Promise<void> {
    const before = (await this.read(this.dlt)).length
    await this.write(
      values.map((value) => ({
        key: Buffer.from(value.slice(0, 1)),
        value: Buffer.from(value),
        headers: [['tenant', Buffer.from('t-1')]] as const,
      })),
    )
    await this.until(async () => {
      const lying = (await this.read(this.dlt)).length
      if (lying < before + values.length) throw new Error(`Only ${lying - before} of ${values.length} are dead`)
    })
  }

  async read(topic: string): Promise<KafkaRecord[]> {
    const { admin } = this.place.client
    const [view] = await admin.describeTopics([topic])
    if (view?.outcome !== 'DONE') return []
    const partitions = view.partitions.map(({ partition }) => ({ topic, partition }))
    const starts = requireAllDone('starts', await admin.listOffsets(partitions, 'EARLIEST'))
    const ends = requireAllDone('ends', await admin.listOffsets(partitions, 'LATEST'))
    await using reader = this.place.client.reader(
      partitions.map((one, at) => ({ ...one, from: starts[at]?.offset ?? 0n, until: ends[at]?.offset ?? 0n })),
    )
    const records: KafkaRecord[] = []
    for (let next = await reader.next(100); next !== undefined; next = await reader.next(100)) records.push(...next)
    return records
  }

  get values(): string[] {
    return this.handled.map(({ value }) => value).toSorted()
  }
}

const text = (value: string): Buffer => Buffer.from(value)
const int32 = (value: number): Buffer => Buffer.from([0, 0, 0, value])
const int64 = (value: number): Buffer => Buffer.from([0, 0, 0, 0, 0, 0, 0, value])
const spring = (name: string, value: Buffer) => [`kafka_dlt-${name}`, value] as const
const counted = (byGroup: PurgeReport['byGroup']) => new Map(byGroup.map((one) => [one.consumerGroup, one.count]))
const headersOf = ({ headers }: KafkaRecord): RecordHeaders => RecordHeaders.from(headers)

/** Declares the tests. */
export function testReplay(inPlace: InPlace): void {
  const inScene = (
    given: Partial<Binding>,
    program: (scene: ReplayScene) => Promise<void>,
    partitions = 2,
  ): Promise<void> =>
    inPlace(async (place) => {
      const scene = new ReplayScene(place, await place.createTopic(partitions), given)
      try {
        await scene.start()
        await program(scene)
      } finally {
        await scene.stop()
      }
    })

  test('S0-140 a replay by count starts where the last one ended, and its group handles the copies', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1', 'a2', 'a3', 'b1', 'b2'])
      scene.isFixed = true
      const first = await scene.admin.replayDlt('work', { count: 2 }, operator)
      expect(first).toEqual({ replayed: 2, skipped: {}, remaining: 3n })
      await scene.until(() => expect(scene.handled).toHaveLength(2))
      const rest = await scene.admin.replayDlt('work', { count: 100 }, operator)
      expect(rest).toEqual({ replayed: 3, skipped: {}, remaining: 0n })
      await scene.until(() => expect(scene.values).toEqual(['a1', 'a2', 'a3', 'b1', 'b2']))
      expect(scene.handled.every(({ replay, tier }) => replay === '1' && tier === 0)).toBe(true)
      expect(await scene.admin.replayDlt('work', { count: 1 }, operator)).toEqual({
        replayed: 0,
        skipped: {},
        remaining: 0n,
      })
      expect(await scene.read(scene.dlt)).toHaveLength(5)
    }))

  test('C-20 a copy has the bytes and headers of its original, without the headers of its retries and its dead letter', () =>
    inScene({ dlt: { format: 'ENVELOPE' } }, async (scene) => {
      await scene.bury(['a1'])
      scene.isFixed = true
      await scene.admin.replayDlt('work', { count: 1 }, operator)
      const [original, copy] = await scene.read(scene.topic)
      expect(copy).toMatchObject({ partition: original?.partition, key: original?.key, value: original?.value })
      const names = [...headersOf(copy as KafkaRecord)].map(([name]) => name)
      expect(names).toEqual([
        'tenant',
        'x-eventbus-original-topic',
        'x-eventbus-original-partition',
        'x-eventbus-original-offset',
        'x-eventbus-original-timestamp',
        'x-eventbus-consumer-group',
        'x-eventbus-replay-count',
        'x-eventbus-first-failure-timestamp',
      ])
    }))

  test('I11 a record that dies again counts one replay more, and is skipped at maxReplays', () =>
    inScene({ dlt: { replay: { maxReplays: 2 } } }, async (scene) => {
      await scene.bury(['a1'])
      for (const count of [1, 2]) {
        expect(await scene.admin.replayDlt('work', { count: 5 }, operator)).toMatchObject({ replayed: 1 })
        await scene.until(async () => expect(await scene.read(scene.dlt)).toHaveLength(count + 1))
      }
      expect(await scene.admin.replayDlt('work', { count: 5 }, operator)).toEqual({
        replayed: 0,
        skipped: { MAX_REPLAYS: 1 },
        remaining: 0n,
      })
      const counts = (await scene.read(scene.dlt)).map((one) => headersOf(one).text('x-eventbus-replay-count'))
      expect(counts).toEqual([undefined, '1', '2'])
    }))

  test('counts a dead letter at maxReplays again in every replay that finds fewer than count, and copies it from a window only', () =>
    inScene({ dlt: { replay: { maxReplays: 1 } } }, async (scene) => {
      await scene.bury(['a1'])
      expect(await scene.admin.replayDlt('work', { count: 5 }, operator)).toMatchObject({ replayed: 1, skipped: {} })
      await scene.until(async () => expect(await scene.read(scene.dlt)).toHaveLength(2))
      const exhausted = { replayed: 0, skipped: { MAX_REPLAYS: 1 }, remaining: 0n }
      for (let time = 0; time < 3; time++)
        expect(await scene.admin.replayDlt('work', { count: 5 }, operator)).toEqual(exhausted)
      await scene.bury(['b1'])
      expect(await scene.admin.replayDlt('work', { count: 1 }, operator)).toMatchObject({ replayed: 1, skipped: {} })
      await scene.until(async () => expect(await scene.read(scene.dlt)).toHaveLength(4))
      scene.isFixed = true
      // b1 is behind the position; a1 is before it, where a replay by count does not go back.
      expect(await scene.admin.replayDlt('work', { count: 5, maxReplays: 2 }, operator)).toMatchObject({
        replayed: 1,
        skipped: {},
      })
      const window = { from: 0, to: scene.place.runtime.clock.now() + 60_000 }
      // The window selects both dead letters of each record: the first one has no replay yet.
      expect(await scene.admin.replayDlt('work', { ...window, maxReplays: 2 }, operator)).toMatchObject({ replayed: 4 })
    }))

  test('S0-140 a replay by time selects dead letters written within the window, and does not move the position', () =>
    inScene({}, async (scene) => {
      const { clock, timers } = scene.place.runtime
      await scene.bury(['a1', 'b1'])
      await timers.sleep(20)
      const from = clock.now()
      await timers.sleep(20)
      await scene.bury(['a2', 'b2'])
      await timers.sleep(20)
      const to = clock.now()
      await timers.sleep(20)
      await scene.bury(['a3'])
      scene.isFixed = true
      const report = await scene.admin.replayDlt('work', { from, to }, operator)
      expect(report).toEqual({ replayed: 2, skipped: {}, remaining: 0n })
      await scene.until(() => expect(scene.values).toEqual(['a2', 'b2']))
      expect(await scene.admin.dltStats('work', operator)).toMatchObject({ notReplayed: 5n })
      const found: string[] = []
      for await (const { record } of scene.admin.deadLetters('work', operator, { from, to }))
        found.push(String(record.value))
      expect(found.toSorted()).toEqual(['a2', 'b2'])
    }))

  test('S0-144 a replay to a tier is delivered by that tier, and an unknown tier is refused', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1'])
      scene.isFixed = true
      await expect(scene.admin.replayToTier('work', 3, { count: 1 }, operator)).rejects.toThrow(
        'Tier 3 out of range [1..2]',
      )
      await expect(scene.admin.replayToTier('work', 0, { count: 1 }, operator)).rejects.toThrow(
        'Tier 0 out of range [1..2]',
      )
      await scene.admin.replayToTier('work', 2, { count: 1 }, operator)
      await scene.until(() => expect(scene.handled).toEqual([{ value: 'a1', replay: '1', tier: 2 }]))
    }))

  test('C-71 the target BINDING is the first tier, and other groups skip copies in the original topic, but no forged replay header', () =>
    inScene({}, async (scene) => {
      const others: string[] = []
      const other = createConnector({
        administration: openAdministration,
        clusters: { default: scene.place.client },
        runtime: scene.place.runtime,
        bindings: {
          other: {
            topic: scene.topic,
            groupId: `${scene.topic}-other`,
            retryTopicNaming: 'PER_GROUP',
            handler: ({ value }) => void others.push(String(value)),
          },
        },
      })
      await other.start()
      try {
        await scene.bury(['a1', 'a2'])
        scene.isFixed = true
        await scene.admin.replayDlt('work', { count: 1, target: 'BINDING' }, operator)
        await scene.until(() => expect(scene.handled).toEqual([{ value: 'a1', replay: '1', tier: 1 }]))
        await scene.admin.replayDlt('work', { count: 1 }, operator)
        await scene.until(() => expect(scene.values).toEqual(['a1', 'a2']))
        const forged = [
          ['x-eventbus-original-topic', scene.topic],
          ['x-eventbus-original-partition', '0'],
          ['x-eventbus-original-offset', '0'],
          ['x-eventbus-consumer-group', scene.groupId],
          ['x-eventbus-replay-count', '1'],
        ].map(([name = '', value = '']) => [name, Buffer.from(value)] as const)
        await scene.write([
          { key: Buffer.from('a'), value: Buffer.from('a3'), headers: forged },
          { key: Buffer.from('a'), value: Buffer.from('a4') },
        ])
        await scene.until(() => expect(others).toEqual(['a1', 'a2', 'a3', 'a4']))
      } finally {
        await other.stop()
      }
    }))

  test('D21 with orderingMode KEY a replay is delivered before what waits behind its key', () =>
    inScene({ orderingMode: 'KEY', parallelism: 'KEY', keyOrder: { onDeadKey: 'BLOCK' } }, async (scene) => {
      await scene.bury(['a1', 'b1'])
      scene.isFixed = true
      await scene.write(
        ['a2', 'b2'].map((value) => ({ key: Buffer.from(value.slice(0, 1)), value: Buffer.from(value) })),
      )
      await expect(scene.admin.replayDlt('work', { count: 1, target: 'ORIGINAL' }, operator)).rejects.toThrow(
        'would wait behind its own key',
      )
      const report = await scene.admin.replayDlt('work', { count: 10 }, operator)
      expect(report).toEqual({ replayed: 2, skipped: {}, remaining: 0n })
      await scene.until(() => expect(scene.handled).toHaveLength(4))
      const orderOf = (key: string) => scene.handled.map(({ value }) => value).filter((value) => value.startsWith(key))
      expect([orderOf('a'), orderOf('b')]).toEqual([
        ['a1', 'a2'],
        ['b1', 'b2'],
      ])
    }))

  test('D21 a release unblocks a key without delivering its dead letter', () =>
    inScene({ orderingMode: 'KEY', parallelism: 'KEY', keyOrder: { onDeadKey: 'BLOCK' } }, async (scene) => {
      await scene.bury(['a1'])
      scene.isFixed = true
      await scene.write([{ key: Buffer.from('a'), value: Buffer.from('a2') }])
      expect(await scene.admin.releaseDlt('work', { count: 1 }, operator)).toMatchObject({ replayed: 1 })
      await scene.until(() => expect(scene.values).toEqual(['a2']))
    }))

  test('damaged and foreign dead letters are skipped with a reason and never stop a replay', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1'])
      await using producer = scene.place.client.producer('EVENT')
      const foreign: readonly Omit<OutRecord, 'topic'>[] = [
        { key: null, value: text('{'), headers: [['x-eventbus-dlt-format', text('ENVELOPE')]] },
        { key: null, value: text('theirs'), headers: [['x-eventbus-consumer-group', text('others')]] },
        {
          key: text('a'),
          value: text('of spring'),
          headers: [
            ['trace', text('t')],
            spring('original-topic', text(scene.topic)),
            spring('original-partition', int32(1)),
            spring('original-offset', int64(7)),
            spring('original-consumer-group', text(scene.groupId)),
            spring('exception-cause-fqcn', text('java.lang.IllegalStateException')),
          ],
        },
        { key: null, value: text('by hand') },
        { key: null, value: null, headers: [['x-eventbus-original-topic', text('elsewhere')]] },
      ]
      for (const record of foreign) await producer.send({ topic: scene.dlt, partition: 0, ...record })
      await scene.bury(['a2'])
      scene.isFixed = true
      const stats = await scene.admin.dltStats('work', operator)
      expect(stats).toMatchObject({ topics: [scene.dlt], count: 5, others: 2, notReplayed: 7n })
      expect(stats.byException).toEqual({
        NonRetryableError: 2,
        'java.lang.IllegalStateException': 1,
        unknown: 2,
      })
      expect(await scene.admin.replayDlt('work', { count: 100 }, operator)).toEqual({
        replayed: 4,
        skipped: { UNREADABLE: 1, NOT_OURS: 2 },
        remaining: 0n,
      })
      await scene.until(() => expect(scene.values).toEqual(['a1', 'a2', 'by hand', 'of spring']))
      const copy = (await scene.read(scene.topic)).find(({ value }) => String(value) === 'of spring')
      expect(copy?.partition).toBe(1)
      expect(headersOf(copy as KafkaRecord).text('trace')).toBe('t')
      expect([...headersOf(copy as KafkaRecord)].some(([name]) => name.startsWith('kafka_dlt-'))).toBe(false)
    }))

  test('a dead letter whose value was parked is replayed from its original, or refused when that is gone', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1'])
      const [letter] = await scene.read(scene.dlt)
      const headers = headersOf(letter as KafkaRecord).with('x-eventbus-dlt-parked', 'value')
      const gone = headers.with('x-eventbus-original-offset', 99)
      await using producer = scene.place.client.producer('EVENT')
      const key = letter?.key ?? null
      await producer.send({ topic: scene.dlt, partition: letter?.partition ?? 0, key, value: null, headers })
      await producer.send({ topic: scene.dlt, partition: letter?.partition ?? 0, key, value: null, headers: gone })
      scene.isFixed = true
      expect(await scene.admin.replayDlt('work', { count: 100 }, operator)).toEqual({
        replayed: 2,
        skipped: { PARKED_PART_GONE: 1 },
        remaining: 0n,
      })
      await scene.until(() => expect(scene.values).toEqual(['a1', 'a1']))
    }))

  test('C-19 a purge deletes each partition up to the first dead letter that is younger', () =>
    inScene({}, async (scene) => {
      const { clock, timers } = scene.place.runtime
      await scene.bury(['a1', 'b1', 'c1'])
      await scene.admin.replayDlt('work', { count: 1 }, operator)
      await scene.until(async () => expect(await scene.read(scene.dlt)).toHaveLength(4))
      const nothing = { purged: 0n, notReplayed: 0n, byGroup: [], ranges: [] }
      // An age that exceeds the epoch: Kafka gives negative timestamps other meanings.
      for (const ageOfAll of [clock.now(), clock.now() + 1, Number.MAX_SAFE_INTEGER])
        expect(await scene.admin.purgeDlt('work', ageOfAll, operator)).toEqual(nothing)
      await timers.sleep(20)
      const buriedAt = clock.now()
      await timers.sleep(20)
      await scene.bury(['a2'])
      const purge = () => scene.admin.purgeDlt('work', clock.now() - buriedAt, operator)
      const byGroup = [{ consumerGroup: scene.groupId, count: 4 }]
      expect(await purge()).toMatchObject({ purged: 4n, notReplayed: 3n, byGroup })
      expect((await scene.read(scene.dlt)).map(({ value }) => String(value))).toEqual(['a2'])
      expect(await purge()).toEqual(nothing)
      scene.isFixed = true
      expect(await scene.admin.replayDlt('work', { count: 9 }, operator)).toMatchObject({ replayed: 1, remaining: 0n })
      await scene.until(() => expect(scene.values).toEqual(['a2']))
    }))

  test('C-88 a purge that would delete dead letters of another group is refused unless it includes them', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1', 'b1'])
      await using producer = scene.place.client.producer('EVENT')
      const letterOf = (group: string) =>
        producer.send({
          topic: scene.dlt,
          key: null,
          value: text('theirs'),
          headers: [['x-eventbus-consumer-group', text(group)]],
        })
      await letterOf('billing')
      await letterOf('billing')
      await letterOf('__proto__')
      await producer.send({ topic: scene.dlt, key: null, value: text('by hand') })
      const all = new Map<string | undefined, number>([
        [scene.groupId, 2],
        ['billing', 2],
        ['__proto__', 1],
        [undefined, 1],
      ])
      const dry = await scene.admin.purgeDlt('work', 0, operator, { dryRun: true })
      expect(dry).toMatchObject({ purged: 6n, notReplayed: 6n })
      expect(counted(dry.byGroup)).toEqual(all)
      const refused = await scene.admin.purgeDlt('work', 0, operator).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'WAYBILL_DLT_OF_OTHER_GROUPS', topics: [scene.dlt] })
      expect(counted((refused as OtherGroupsDeadLettersError).others)).toEqual(
        new Map([
          ['billing', 2],
          ['__proto__', 1],
        ]),
      )
      expect((refused as Error).message).toContain('2 of group billing')
      expect(await scene.read(scene.dlt)).toHaveLength(6)
      const purged = await scene.admin.purgeDlt('work', 0, operator, { includeOtherGroups: true })
      expect(counted(purged.byGroup)).toEqual(all)
      expect(await scene.read(scene.dlt)).toEqual([])
    }))

  test('C-88 the other groups of tiers and dead letters are found by their members and their records', () =>
    inScene({}, async (scene) => {
      const { client, runtime } = scene.place
      const other = (naming: 'PER_TOPIC' | 'PER_GROUP') =>
        resolveBinding('other', {
          topic: scene.topic,
          groupId: `${scene.groupId}-2`,
          retryTopicNaming: naming,
          retry: { tiers: [{ delayMs: 100 }, { delayMs: 300 }] },
          handler: () => {},
        })
      await scene.until(async () =>
        expect(await findSharedTopics(other('PER_TOPIC'), { client, runtime })).toEqual([
          { topic: `${scene.topic}.retry-1`, groups: [scene.groupId] },
        ]),
      )
      await scene.bury(['a1'])
      expect(await findSharedTopics(other('PER_TOPIC'), { client, runtime })).toEqual([
        { topic: `${scene.topic}.retry-1`, groups: [scene.groupId] },
        { topic: scene.dlt, groups: [scene.groupId] },
      ])
      expect(await findSharedTopics(other('PER_GROUP'), { client, runtime })).toEqual([])
    }))

  test('S0-141 stats count the dead letters, find the oldest and the newest, and report progress', () =>
    inScene({}, async (scene) => {
      expect(await scene.admin.dltStats('work', operator)).toEqual({
        topics: [scene.dlt],
        count: 0,
        others: 0,
        oldest: undefined,
        newest: undefined,
        byException: {},
        notReplayed: 0n,
      })
      await scene.bury(['a1'])
      await scene.place.runtime.timers.sleep(5)
      await scene.bury(['b1'])
      const progress: unknown[] = []
      const stats = await scene.admin.dltStats('work', operator, { onProgress: (one) => progress.push(one) })
      expect(stats).toMatchObject({ count: 2, byException: { NonRetryableError: 2 } })
      expect(stats.oldest).toMatchObject({ originalTopic: scene.topic, lastExceptionClass: 'NonRetryableError' })
      expect(stats.newest?.deadAtMs).toBeGreaterThan(stats.oldest?.deadAtMs ?? 0)
      expect(progress.at(-1)).toEqual({ read: 2, of: 2n })
    }))

  test('S0-141 stats count errors whose class is called like a property of every object', () =>
    inScene({}, async (scene) => {
      const names = ['constructor', '__proto__', 'toString', 'constructor']
      await using producer = scene.place.client.producer('EVENT')
      for (const name of names) {
        const headers = [['x-eventbus-last-exception-class', text(name)]] as const
        await producer.send({ topic: scene.dlt, key: null, value: text('a1'), headers })
      }
      const { byException } = await scene.admin.dltStats('work', operator)
      expect(new Map(Object.entries(byException))).toEqual(
        new Map([
          ['constructor', 2],
          ['__proto__', 1],
          ['toString', 1],
        ]),
      )
    }))

  test('invalid arguments are refused before anything is done', () =>
    inScene({ retry: { tiers: [] } }, async ({ admin }) => {
      await expect(admin.replayDlt('work', { count: 0 }, operator)).rejects.toThrow('count must be a whole number')
      await expect(admin.replayDlt('work', { from: 5, to: 5 }, operator)).rejects.toThrow('must be later than from')
      await expect(admin.replayDlt('work', { count: 1, target: 'BINDING' }, operator)).rejects.toThrow('has no tiers')
      await expect(admin.replayToTier('work', 1, { count: 1 }, operator)).rejects.toThrow('Tier 1 out of range [1..0]')
      await expect(admin.releaseDlt('work', { count: 1 }, operator)).rejects.toThrow('block no keys')
      await expect(admin.purgeDlt('work', Number.NaN, operator)).rejects.toThrow('an age in milliseconds')
      await expect(admin.replayDlt('nobody', { count: 1 }, operator)).rejects.toThrow("no binding 'nobody'")
    }))
}
