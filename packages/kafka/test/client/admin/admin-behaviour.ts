import { isDeepStrictEqual } from 'node:util'
import { ArgumentError } from '@waybill/core'
import type { AdminWorld, RunInAdminWorld } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { Admin, NewTopic } from '../../../src/client/admin/admin.ts'
import { adminResultsOf, PartialFailureError, requireAllDone } from '../../../src/client/admin/admin-result.ts'

/** Behavior of an admin on any cluster. */
export function describeAdminBehaviour(run: RunInAdminWorld): void {
  describe('topics', () => {
    test('are created with their partitions and configs, and answer at once', () =>
      run(async ({ admin, named, write }) => {
        const topic = named('orders')
        const configs = { 'retention.ms': '3600000', 'cleanup.policy': 'delete' }
        expect(await admin.createTopics([{ topic, partitions: 4, replication: 1, configs }])).toEqual([
          { topic, outcome: 'DONE' },
        ])
        for (const partition of [0, 1, 2, 3]) await write(topic, partition, [1])
        const [described] = requireAllDone('', await admin.describeTopics([topic]))
        expect(described).toMatchObject({ topic, isInternal: false, replication: 1 })
        expect(described?.topicId).toMatch(/^[0-9a-f-]{36}$/)
        expect(described?.partitions.map(({ partition, leader }) => [partition, leader !== null])).toEqual([
          [0, true],
          [1, true],
          [2, true],
          [3, true],
        ])
        const [settings] = requireAllDone('', await admin.describeConfigs([topic]))
        expect(settings?.configs.get('retention.ms')).toEqual({ value: '3600000', isDefault: false })
        expect(settings?.configs.get('max.message.bytes')).toEqual({ value: '1048588', isDefault: true })
        expect(await admin.listTopics()).toContain(topic)
      }))

    test('one that is refused says why and leaves the others alone', () =>
      run(async ({ admin, named }) => {
        const [good, bad, replicated] = [named('good'), named('bad'), named('replicated')]
        await create(admin, { topic: named('there') })
        const outcomes = await adminResultsOf(
          admin.createTopics([
            { topic: good, partitions: 1, replication: 1 },
            { topic: named('there'), partitions: 1, replication: 1 },
            { topic: bad, partitions: 1, replication: 1, configs: { 'no.such.setting': '1' } },
            { topic: replicated, partitions: 1, replication: 30 },
            { topic: 'not a name', partitions: 1, replication: 1 },
          ]),
        )
        expect(outcomes.map((one) => [one.topic, one.outcome === 'DONE' ? 'DONE' : one.error.reason])).toEqual([
          [good, 'DONE'],
          [named('there'), 'TOPIC_ALREADY_EXISTS'],
          [bad, 'INVALID_CONFIG'],
          [replicated, 'INVALID_REPLICATION_FACTOR'],
          ['not a name', 'INVALID_TOPIC_EXCEPTION'],
        ])
        expect(requireAllDone('', await admin.describeTopics([good]))).toHaveLength(1)
      }))

    test('a call rejects when one topic is refused, with the result of each', () =>
      run(async ({ admin, named }) => {
        const [good, there] = [named('good'), named('there')]
        await create(admin, { topic: there })
        const creation = admin.createTopics([
          { topic: good, partitions: 1, replication: 1 },
          { topic: there, partitions: 1, replication: 1 },
        ])
        const error = await creation.then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        expect(error).toBeInstanceOf(PartialFailureError)
        const { message, outcomes } = error as PartialFailureError
        expect(message).toMatch(/^Creating topics: 1 of 2 failed:\n.*already exists[^]*The others were done/i)
        expect(outcomes).toMatchObject([
          { topic: good, outcome: 'DONE' },
          { topic: there, outcome: 'FAILED', error: { reason: 'TOPIC_ALREADY_EXISTS' } },
        ])
      }))

    test('every call that changes something rejects when it was not done', () =>
      run(async ({ admin, named }) => {
        const gone = named('gone')
        const calls = [
          admin.deleteTopics([gone]),
          admin.createPartitions({ [gone]: 2 }),
          admin.alterConfigs({ [gone]: { 'retention.ms': '1' } }),
          admin.deleteRecords([{ topic: gone, partition: 0, before: 'END' }]),
          admin.alterGroupOffsets(named('group'), [{ topic: gone, partition: 0, offset: 0n }]),
          admin.deleteGroups([named('nobody')]),
        ]
        for (const one of await Promise.allSettled<unknown>(calls))
          expect(one).toMatchObject({ status: 'rejected', reason: { code: 'WAYBILL_KAFKA_PARTIAL_FAILURE' } })
      }))

    test('one that is given twice is refused, and none is created', () =>
      run(async ({ admin, named }) => {
        const [twice, beside] = [named('twice'), named('beside')]
        const creation = admin.createTopics([
          { topic: twice, partitions: 1, replication: 1 },
          { topic: beside, partitions: 1, replication: 1 },
          { topic: twice, partitions: 4, replication: 1 },
        ])
        await expect(creation).rejects.toThrow(ArgumentError)
        const topics = await admin.listTopics()
        for (const topic of [twice, beside]) expect(topics).not.toContain(topic)
      }))

    test('one that is missing is named, and the others are described', () =>
      run(async ({ admin, named }) => {
        const topic = named('there')
        await create(admin, { topic })
        const [gone, there] = await admin.describeTopics([named('gone'), topic])
        expect(gone).toMatchObject({
          outcome: 'FAILED',
          error: { kind: 'FATAL', reason: 'UNKNOWN_TOPIC_OR_PARTITION' },
        })
        expect(there).toMatchObject({ topic, outcome: 'DONE' })
        const [goneConfigs, thereConfigs] = await admin.describeConfigs([named('gone'), topic])
        expect(goneConfigs).toMatchObject({ outcome: 'FAILED', error: { reason: 'UNKNOWN_TOPIC_OR_PARTITION' } })
        expect(thereConfigs).toMatchObject({ topic, outcome: 'DONE' })
      }))

    test('are deleted, each for itself', () =>
      run(async ({ admin, named }) => {
        const topic = named('short-lived')
        await create(admin, { topic })
        const [deleted, gone] = await adminResultsOf(admin.deleteTopics([topic, named('gone')]))
        expect(deleted).toEqual({ topic, outcome: 'DONE' })
        expect(gone).toMatchObject({ outcome: 'FAILED', error: { reason: 'UNKNOWN_TOPIC_OR_PARTITION' } })
        expect(await admin.listTopics()).not.toContain(topic)
        expect(await admin.createTopics([{ topic, partitions: 1, replication: 1 }])).toEqual([
          { topic, outcome: 'DONE' },
        ])
      }))

    test('get more partitions, which answer at once, and never fewer', () =>
      run(async ({ admin, named, write }) => {
        const [topic, other] = [named('growing'), named('other')]
        await create(admin, { topic, partitions: 2 }, { topic: other, partitions: 3 })
        const [grown, kept, gone] = await adminResultsOf(
          admin.createPartitions({ [topic]: 5, [other]: 2, [named('gone')]: 2 }),
        )
        expect(grown).toEqual({ topic, outcome: 'DONE' })
        expect(kept).toMatchObject({ outcome: 'FAILED', error: { kind: 'FATAL', reason: 'INVALID_PARTITIONS' } })
        expect(gone).toMatchObject({ outcome: 'FAILED', error: { reason: 'UNKNOWN_TOPIC_OR_PARTITION' } })
        await write(topic, 4, [1])
      }))

    test('change one config and keep the others; null takes an override away', () =>
      run(async (world) => {
        const { admin, named } = world
        const topic = named('orders')
        await create(admin, { topic, configs: { 'retention.ms': '3600000', 'max.message.bytes': '5000' } })
        const changed = await adminResultsOf(
          admin.alterConfigs({
            [topic]: { 'retention.ms': '7200000' },
            [named('gone')]: { 'retention.ms': '1' },
          }),
        )
        expect(changed[0]).toEqual({ topic, outcome: 'DONE' })
        expect(changed[1]).toMatchObject({ outcome: 'FAILED', error: { reason: 'UNKNOWN_TOPIC_OR_PARTITION' } })
        await settled(world, topic, 'retention.ms', { value: '7200000', isDefault: false })
        await settled(world, topic, 'max.message.bytes', { value: '5000', isDefault: false })
        requireAllDone('', await admin.alterConfigs({ [topic]: { 'max.message.bytes': null } }))
        await settled(world, topic, 'max.message.bytes', { value: '1048588', isDefault: true })
        const [refused] = await adminResultsOf(admin.alterConfigs({ [topic]: { 'retention.ms': 'soon' } }))
        expect(refused).toMatchObject({ outcome: 'FAILED', error: { kind: 'FATAL', reason: 'INVALID_CONFIG' } })
      }))
  })

  describe('offsets of partitions', () => {
    test('are found by earliest, latest and time; null where no record is that late', () =>
      run(async ({ admin, named, write }) => {
        const topic = named('timed')
        await create(admin, { topic, partitions: 2 })
        const day = Date.UTC(2026, 0, 1)
        await write(topic, 0, [day, day + 1_000, day + 2_000])
        const both = [
          { topic, partition: 0 },
          { topic, partition: 1 },
        ]
        const at = async (where: Parameters<Admin['listOffsets']>[1]) =>
          requireAllDone('', await admin.listOffsets(both, where)).map(({ offset }) => offset)
        expect(await at('EARLIEST')).toEqual([0n, 0n])
        expect(await at('LATEST')).toEqual([3n, 0n])
        expect(await at({ timestampMs: day + 500 })).toEqual([1n, null])
        expect(await at({ timestampMs: day + 3_000 })).toEqual([null, null])
      }))

    test('one that does not exist fails alone', () =>
      run(async ({ admin, named }) => {
        const topic = named('small')
        await create(admin, { topic })
        const outcomes = await admin.listOffsets(
          [
            { topic, partition: 7 },
            { topic, partition: 0 },
            { topic: named('gone'), partition: 0 },
          ],
          'LATEST',
        )
        expect(outcomes).toMatchObject([
          { partition: 7, outcome: 'FAILED', error: { kind: 'FATAL', reason: 'UNKNOWN_TOPIC_OR_PARTITION' } },
          { partition: 0, outcome: 'DONE', offset: 0n },
          { topic: named('gone'), outcome: 'FAILED', error: { reason: 'UNKNOWN_TOPIC_OR_PARTITION' } },
        ])
        expect(() => requireAllDone('Looking', outcomes)).toThrow(
          expect.objectContaining({
            code: 'WAYBILL_KAFKA_PARTIAL_FAILURE',
            message: expect.stringContaining(`\n  ${topic}-7: Topic ${topic} has 1 partitions`) as string,
          }),
        )
      }))

    test('records before an offset, or all there are, are deleted', () =>
      run(async ({ admin, named, write }) => {
        const topic = named('trimmed')
        await create(admin, { topic, partitions: 3 })
        for (const partition of [0, 1, 2]) await write(topic, partition, [1, 2, 3, 4])
        const outcomes = await adminResultsOf(
          admin.deleteRecords([
            { topic, partition: 0, before: 2n },
            { topic, partition: 1, before: 'END' },
            { topic, partition: 2, before: 99n },
          ]),
        )
        expect(outcomes).toMatchObject([
          { partition: 0, outcome: 'DONE', earliest: 2n },
          { partition: 1, outcome: 'DONE', earliest: 4n },
          { partition: 2, outcome: 'FAILED', error: { kind: 'FATAL', reason: 'OFFSET_OUT_OF_RANGE' } },
        ])
        const earliest = await admin.listOffsets([{ topic, partition: 0 }], 'EARLIEST')
        expect(earliest).toMatchObject([{ offset: 2n }])
      }))
  })

  describe('groups', () => {
    test('an empty one is set to offsets, and shows how far it is behind', () =>
      run(async ({ admin, named, write }) => {
        const [topic, groupId] = [named('orders'), named('billing')]
        await create(admin, { topic, partitions: 3 })
        await write(topic, 0, [1, 2, 3])
        await write(topic, 1, [1])
        const set = await adminResultsOf(
          admin.alterGroupOffsets(groupId, [
            { topic, partition: 0, offset: 1n, metadata: 'so far' },
            { topic, partition: 1, offset: 1n },
            { topic: named('gone'), partition: 0, offset: 1n },
          ]),
        )
        expect(set).toMatchObject([
          { partition: 0, outcome: 'DONE' },
          { partition: 1, outcome: 'DONE' },
          { topic: named('gone'), outcome: 'FAILED', error: { reason: 'UNKNOWN_TOPIC_OR_PARTITION' } },
        ])
        const committed = [
          { topic, partition: 0, outcome: 'DONE', committed: 1n, metadata: 'so far', end: 3n, lag: 2n },
          { topic, partition: 1, outcome: 'DONE', committed: 1n, metadata: '', end: 1n, lag: 0n },
        ]
        expect(sorted(await admin.groupOffsets(groupId))).toEqual(committed)
        const all = [0, 1, 2].map((partition) => ({ topic, partition }))
        expect(await admin.groupOffsets(groupId, all)).toEqual([
          ...committed,
          { topic, partition: 2, outcome: 'DONE', committed: null, metadata: null, end: 0n, lag: null },
        ])
        expect(await admin.groupOffsets(named('nobody'))).toEqual([])
      }))

    test.each([-5n, 2n ** 63n])('one is not set to an offset that no log can have: %i', (offset) =>
      run(async ({ admin, named }) => {
        const [topic, groupId] = [named('orders'), named('billing')]
        await create(admin, { topic, partitions: 2 })
        const altering = admin.alterGroupOffsets(groupId, [
          { topic, partition: 0, offset: 1n },
          { topic, partition: 1, offset },
        ])
        await expect(altering).rejects.toThrow(ArgumentError)
        expect(await admin.groupOffsets(groupId)).toEqual([])
      }),
    )

    test('one with members keeps its offsets and says why', () =>
      run(async ({ admin, named, join }) => {
        const [topic, groupId] = [named('orders'), named('busy')]
        await create(admin, { topic })
        const member = await join(groupId, topic)
        const [refused] = await adminResultsOf(admin.alterGroupOffsets(groupId, [{ topic, partition: 0, offset: 0n }]))
        expect(refused).toMatchObject({ outcome: 'FAILED', error: { kind: 'FATAL', reason: 'UNKNOWN_MEMBER_ID' } })
        expect(refused?.outcome === 'FAILED' && refused.error.message).toContain(`The group ${groupId} has members.`)
        const [kept] = await adminResultsOf(admin.deleteGroups([groupId]))
        expect(kept).toMatchObject({ outcome: 'FAILED', error: { kind: 'FATAL', reason: 'NON_EMPTY_GROUP' } })
        await member.leave()
        expect(await admin.alterGroupOffsets(groupId, [{ topic, partition: 0, offset: 0n }])).toEqual([
          { topic, partition: 0, outcome: 'DONE' },
        ])
      }))

    test('are described with their members; one that does not exist fails alone', () =>
      run(async ({ admin, named, join }) => {
        const [topic, groupId] = [named('orders'), named('group')]
        await create(admin, { topic })
        const { memberId, leave } = await join(groupId, topic)
        const [gone, there] = await admin.describeGroups([named('nobody'), groupId])
        expect(gone).toMatchObject({ outcome: 'FAILED', error: { kind: 'FATAL', reason: 'GROUP_ID_NOT_FOUND' } })
        expect(there).toMatchObject({
          groupId,
          outcome: 'DONE',
          groupState: 'Stable',
          groupType: 'CLASSIC',
          protocol: 'range',
          members: [{ memberId, instanceId: null, clientId: 'admin-test', assignment: [{ topic, partition: 0 }] }],
        })
        await leave()
        expect(await admin.describeGroups([groupId])).toMatchObject([{ groupState: 'Empty', members: [] }])
      }))

    test('are listed and deleted, each for itself', () =>
      run(async ({ admin, named }) => {
        const [topic, groupId] = [named('orders'), named('retired')]
        await create(admin, { topic })
        requireAllDone('', await admin.alterGroupOffsets(groupId, [{ topic, partition: 0, offset: 0n }]))
        const isOwn = ({ groupId: id }: { groupId: string }): boolean => id === groupId
        expect((await admin.listGroups()).filter(isOwn)).toEqual([
          { groupId, groupState: 'Empty', groupType: 'CLASSIC' },
        ])
        expect(await adminResultsOf(admin.deleteGroups([groupId, named('nobody')]))).toMatchObject([
          { groupId, outcome: 'DONE' },
          { outcome: 'FAILED', error: { reason: 'GROUP_ID_NOT_FOUND' } },
        ])
        expect((await admin.listGroups()).filter(isOwn)).toEqual([])
      }))
  })
}

async function create(admin: Admin, ...topics: (Partial<NewTopic> & { readonly topic: string })[]): Promise<void> {
  requireAllDone('', await admin.createTopics(topics.map((topic) => ({ partitions: 1, replication: 1, ...topic }))))
}

/** A broker takes a moment to see a change that its controller has acknowledged. */
async function settled({ admin, runtime }: AdminWorld, topic: string, config: string, expected: object): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const [found] = requireAllDone('', await admin.describeConfigs([topic]))
    const entry = found?.configs.get(config)
    if (attempt === 100 || isDeepStrictEqual(entry, expected)) return expect(entry).toEqual(expected)
    await runtime.timers.sleep(20)
  }
}

function sorted<T extends { readonly partition: number }>(outcomes: readonly T[]): T[] {
  return outcomes.toSorted((one, other) => one.partition - other.partition)
}
