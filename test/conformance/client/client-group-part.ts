import assert from 'node:assert/strict'
import { CommitError, type ConsumerOptions } from '@waybill/kafka'
import type { KafkaSuite } from '../kafka-harness.ts'
import { type ClientScene, kafkaErrorOf } from './client-scene.ts'
import type { Reader } from './reader.ts'

/** Tests of a consumer in its group: hand-over, commits, lost and kept partitions. */
export function groupPart(suite: KafkaSuite<ClientScene>): void {
  suite.describe('partitions change hands', () => handOverTests(suite))
  suite.describe('a commit', () => commitTests(suite))
  suite.describe('a consumer that stops', () => stopTests(suite))
  suite.describe('a consumer that nobody polls', () => absentTests(suite))
  suite.describe('a static member', () => staticTests(suite))
  suite.describe('a companion topic', () => companionTests(suite))
}

function handOverTests({ test }: KafkaSuite<ClientScene>): void {
  for (const assignment of ['COOPERATIVE', 'EAGER'] as const)
    test(`without a duplicate and without a gap, ${assignment}`, async (scene) => {
      const partitions = 6
      const topic = await scene.createTopic('hand-over', { partitions })
      const options: ConsumerOptions = { groupId: scene.named('hand-over'), topics: [topic], assignment }
      const written: string[] = []
      const over = new AbortController()
      const writing = writeUntil(scene, topic, partitions, over.signal, written)
      const readers: Reader[] = []
      const enter = async (): Promise<Reader> => {
        const reader = await scene.read(options, scene.anotherClient())
        readers.push(reader)
        reader.run()
        return reader
      }
      const shared = (present: readonly Reader[]): Promise<unknown> =>
        scene.until(
          () => present.map(({ owned }) => owned.length),
          (counts) =>
            counts.every((count) => count > 0) && counts.reduce((sum, count) => sum + count, 0) === partitions,
        )
      const first = await enter()
      await shared([first])
      const second = await enter()
      await shared([first, second])
      const [third, fourth] = await Promise.all([enter(), enter()])
      await shared([first, second, third, fourth])
      await second.stop()
      await shared([first, third, fourth])
      await first.stop()
      await shared([third, fourth])
      over.abort()
      await writing
      await scene.until(
        () => readers.reduce((sum, { records }) => sum + records.length, 0),
        (count) => count >= written.length,
      )
      await Promise.all([third.stop(), fourth.stop()])
      const read = readers.flatMap(({ values }) => values)
      assert.deepEqual(read.toSorted(), written.toSorted(), 'each record once')
      assert.deepEqual(
        readers.flatMap(({ told }) => told.filter(({ what }) => what === 'LOST')),
        [],
      )
      for (const reader of readers) assertInOrder(reader)
    })

  test('only where they must: a cooperative member keeps what it keeps', async (scene) => {
    const topic = await scene.createTopic('keep', { partitions: 4 })
    const options = { groupId: scene.named('keep'), topics: [topic] }
    const first = await scene.read(options)
    first.run()
    await first.untilOwned(4)
    const second = await scene.read(options)
    second.run()
    await second.untilOwned(2)
    await first.untilOwned(2)
    assert.deepEqual(first.toldOf('REVOKING').toSorted(), second.owned)
    await Promise.all([first.stop(), second.stop()])
  })

  test('held until what was handed out of them is settled', async (scene) => {
    const topic = await scene.createTopic('held', { partitions: 2 })
    const groupId = scene.named('held')
    const drained = Promise.withResolvers<void>()
    const first = await scene.read({ groupId, topics: [topic], onRevoking: () => drained.promise })
    first.run()
    await first.untilOwned(2)
    await scene.write(topic, ['a'], 0)
    await scene.write(topic, ['b'], 1)
    await first.untilRead(2)
    const second = await scene.read({ groupId, topics: [topic] })
    second.run()
    await scene.until(
      () => first.toldOf('REVOKING'),
      (revoking) => revoking.length === 1,
    )
    // The drain outlasts several heartbeats, and the session with them.
    for (let beats = 0; beats < 3; beats++) assert.equal(await first.consumer.confirmMembership(), true)
    assert.deepEqual([second.owned, second.values], [[], []])
    drained.resolve()
    await second.untilOwned(1)
    await scene.write(topic, ['c'], Number(second.owned[0]?.slice(-1)))
    await second.untilRead(1)
    assert.deepEqual(second.values, ['c'], 'what the first had done is not repeated')
    await Promise.all([first.stop(), second.stop()])
  })
}

/** Writes to each partition in turn until it is stopped. */
async function writeUntil(
  scene: ClientScene,
  topic: string,
  partitions: number,
  over: AbortSignal,
  written: string[],
): Promise<void> {
  for (let round = 0; !over.aborted; round++) {
    const values = Array.from({ length: partitions }, (_, partition) => `${partition}/${round}`)
    await Promise.all(values.map((value, partition) => scene.write(topic, [value], partition)))
    written.push(...values)
    await scene.runtime.timers.sleep(2)
  }
}

function assertInOrder({ records }: Reader): void {
  const next = new Map<string, bigint>()
  for (const { topic, partition, epoch, offset } of records) {
    const name = `${topic}-${partition} in ${epoch}`
    assert.ok(offset >= (next.get(name) ?? 0n), `${name} goes back to ${offset}`)
    next.set(name, offset + 1n)
  }
}

function commitTests({ test }: KafkaSuite<ClientScene>): void {
  test('is remembered with its metadata, and the next member goes on from there', async (scene) => {
    const topic = await scene.createTopic('remembered')
    const options = { groupId: scene.named('remembered'), topics: [topic] }
    await scene.write(topic, ['a', 'b', 'c'])
    const first = await scene.read({ ...options, commitsOnRevoke: false })
    await first.untilRead(3)
    const [record] = first.records
    await first.consumer.commit([{ topic, partition: 0, offset: 2n, epoch: record?.epoch ?? -1, metadata: 'note' }])
    const partitions = [{ topic, partition: 0 }]
    const committed = [{ topic, partition: 0, offset: 2n, leaderEpoch: 0, metadata: 'note' }]
    assert.deepEqual(await first.consumer.committed(partitions), committed)
    const [lag] = await scene.kafka.admin.groupOffsets(options.groupId, partitions)
    assert.deepEqual(lag?.outcome === 'DONE' && [lag.committed, lag.end, lag.lag], [2n, 3n, 1n])
    await first.stop()
    const second = await scene.read(options)
    await second.untilRead(1)
    assert.deepEqual(second.values, ['c'])
  })

  test('for an assignment that is over is refused before it is sent', async (scene) => {
    const topic = await scene.createTopic('epoch', { partitions: 2 })
    const groupId = scene.named('epoch')
    const reader = await scene.read({ groupId, topics: [topic] })
    await reader.untilOwned(2)
    const epoch = reader.consumer.assignment()[0]?.epoch ?? -1
    const offsets = [
      { topic, partition: 0, offset: 1n, epoch: epoch - 1 },
      { topic, partition: 1, offset: 1n, epoch },
      { topic, partition: 7, offset: 1n, epoch },
    ]
    const error = await kafkaErrorOf(reader.consumer.commit(offsets), 'REBALANCING')
    assert.ok(error instanceof CommitError)
    const kinds = error.outcomes.map(({ offset, kind }) => `${offset.partition} ${kind}`)
    assert.deepEqual(kinds.toSorted(), ['0 REBALANCING', '1 COMMITTED', '7 REBALANCING'])
    const remembered = await reader.consumer.committed([
      { topic, partition: 0 },
      { topic, partition: 1 },
    ])
    assert.deepEqual(
      remembered.map(({ offset }) => offset),
      [null, 1n],
    )
  })

  test('that the broker refuses for one partition says so, and what became of the others', async (scene) => {
    const topic = await scene.createTopic('refused', { partitions: 2 })
    const reader = await scene.read({ groupId: scene.named('refused'), topics: [topic] })
    await reader.untilOwned(2)
    const epoch = reader.consumer.assignment()[0]?.epoch ?? -1
    const commit = reader.consumer.commit([
      { topic, partition: 0, offset: 1n, epoch, metadata: 'm'.repeat(4_097) },
      { topic, partition: 1, offset: 1n, epoch, metadata: 'm'.repeat(4_096) },
    ])
    const error = await kafkaErrorOf(commit, 'FATAL')
    assert.ok(error instanceof CommitError)
    const outcomes = error.outcomes.map(({ offset, kind, reason }) => `${offset.partition} ${kind} ${reason}`)
    assert.deepEqual(outcomes.toSorted(), ['0 FATAL OFFSET_METADATA_TOO_LARGE', '1 COMMITTED undefined'])
  })

  test('of a member that was expelled is refused, and moves nothing back', async (scene) => {
    const topic = await scene.createTopic('expelled')
    const groupId = scene.named('expelled')
    // With slow heartbeats, and none that hurry as they do after a cooperative rebalance, the commit is the first to be rejected.
    const slow = { heartbeatIntervalMs: 3_000, sessionTimeoutMs: 10_000, assignment: 'EAGER' } as const
    await scene.write(topic, ['a', 'b', 'c'])
    const zombie = await scene.read({ groupId, topics: [topic], ...slow })
    await zombie.untilRead(3)
    const { memberId } = zombie.consumer.groupMetadata()
    const members = [{ memberId, groupInstanceId: null, reason: 'an operator' }]
    await scene.wire.send('LeaveGroup', { groupId, members })
    const owner = await scene.read({ groupId, topics: [topic], assignment: 'EAGER' })
    await owner.untilRead(3)
    await owner.commit()
    const error = await kafkaErrorOf(zombie.commit(), 'REBALANCING')
    assert.equal(error.reason, 'UNKNOWN_MEMBER_ID')
    const [remembered] = await owner.consumer.committed([{ topic, partition: 0 }])
    assert.equal(remembered?.offset, 3n)
    owner.run()
    zombie.run()
    await scene.until(
      () => zombie.toldOf('LOST'),
      (lost) => lost.length === 1,
    )
    assert.deepEqual(zombie.toldOf('REVOKING'), [], 'nothing of it may be committed')
    await Promise.all([owner.stop(), zombie.stop()])
  })
}

function stopTests({ test }: KafkaSuite<ClientScene>): void {
  test('while it owns partitions gives them back, and others have them at once', async (scene) => {
    const topic = await scene.createTopic('stop', { partitions: 2 })
    // The partitions move at once, without waiting for a session timeout.
    const options = { groupId: scene.named('stop'), topics: [topic], sessionTimeoutMs: 300_000 }
    await scene.write(topic, ['a', 'b', 'c'], 0)
    const first = await scene.read(options)
    await first.untilOwned(2)
    await first.untilRead(3)
    await scene.write(topic, ['d', 'e'], 0)
    const waiting = first.consumer.poll(1, 300_000)
    const [handed] = await Promise.all([waiting, first.stop()])
    const { epoch } = first.records[0] ?? { epoch: -1 }
    await kafkaErrorOf(first.consumer.commit([{ topic, partition: 0, offset: 5n, epoch }]), 'REBALANCING')
    assert.deepEqual(first.toldOf('REVOKING').toSorted(), [`${topic}-0`, `${topic}-1`])
    const second = await scene.read(options)
    await second.untilRead(2)
    assert.deepEqual(second.values, ['d', 'e'], `nothing twice and nothing left out; ${handed.length} were under way`)
    await second.stop()
    assert.deepEqual(second.consumer.assignment(), [])
  })

  test('before it has joined, or before it has started, stops', async (scene) => {
    const topic = await scene.createTopic('stop-early')
    const options = { groupId: scene.named('stop-early'), topics: [topic] }
    const reader = await scene.read(options)
    await reader.stop()
    const never = scene.kafka.consumer({ ...options })
    await never.stop()
    const [group] = await scene.kafka.admin.describeGroups([options.groupId])
    assert.deepEqual(group?.outcome === 'DONE' ? group.members : [], [], 'nobody is left behind in the group')
  })
}

function absentTests({ test }: KafkaSuite<ClientScene>): void {
  test('gives its partitions up, and has them again when somebody does', async (scene) => {
    const topic = await scene.createTopic('absent', { partitions: 2 })
    const options = { groupId: scene.named('absent'), topics: [topic] }
    const absent = await scene.read({ ...options, maxPollIntervalMs: 300 })
    await absent.untilOwned(2)
    await scene.until(
      () => absent.owned,
      (owned) => owned.length === 0,
    )
    assert.deepEqual(absent.toldOf('LOST').toSorted(), [`${topic}-0`, `${topic}-1`])
    const other = await scene.read(options)
    other.run()
    await other.untilOwned(2)
    absent.run()
    await absent.untilOwned(1)
    await other.untilOwned(1)
    await Promise.all([absent.stop(), other.stop()])
  })
}

function staticTests({ test }: KafkaSuite<ClientScene>): void {
  const instanceId = 'place'

  test('that restarts has what it had, and nobody else notices', async (scene) => {
    const topic = await scene.createTopic('restart', { partitions: 4 })
    const options = { groupId: scene.named('restart'), topics: [topic], sessionTimeoutMs: 300_000 }
    const other = await scene.read(options)
    other.run()
    await other.untilOwned(4)
    const former = await scene.read({ ...options, instanceId })
    await former.untilOwned(2)
    await other.untilOwned(2)
    await scene.until(
      () => [other.consumer.groupMetadata().generationId, former.consumer.groupMetadata().generationId],
      ([one, two]) => one === two,
    )
    const before = { generation: other.consumer.groupMetadata().generationId, told: other.told.length }
    const owned = former.owned
    await former.stop()
    const latter = await scene.read({ ...options, instanceId })
    await latter.untilOwned(2)
    assert.deepEqual(latter.owned, owned)
    assert.equal(await other.consumer.confirmMembership(), true)
    const generations = [other, latter].map(({ consumer }) => consumer.groupMetadata().generationId)
    assert.deepEqual(generations, [before.generation, before.generation])
    assert.equal(other.told.length, before.told)
    await latter.stop({ leave: true })
    await other.untilOwned(4)
    await other.stop()
  })

  test('whose place is taken is fenced and stops', async (scene) => {
    const topic = await scene.createTopic('twin')
    const options = { groupId: scene.named('twin'), topics: [topic], instanceId }
    const former = await scene.read(options)
    await former.untilOwned(1)
    await scene.write(topic, ['a'])
    await former.untilRead(1)
    const latter = await scene.read(options, scene.anotherClient())
    await latter.untilOwned(1)
    await scene.until(
      () => former.fatal,
      (fatal) => fatal.length === 1,
    )
    await kafkaErrorOf(former.consumer.poll(1, 0), 'FENCED')
    const { epoch } = former.records[0] ?? { epoch: -1 }
    await kafkaErrorOf(former.consumer.commit([{ topic, partition: 0, offset: 1n, epoch }]), 'REBALANCING')
    await latter.untilRead(1)
    assert.deepEqual(latter.values, ['a'], 'the former had not committed it')
    assert.equal(await latter.consumer.confirmMembership(), true)
  })
}

function companionTests({ test }: KafkaSuite<ClientScene>): void {
  test('comes and goes with its source, partition by partition, under one epoch', async (scene) => {
    const topic = await scene.createTopic('source', { partitions: 2 })
    const beside = await scene.createTopic('beside', { partitions: 2 })
    const options = { groupId: scene.named('companion'), topics: [topic], companion: () => beside }
    for (const partition of [0, 1]) {
      await scene.write(topic, [`source ${partition}`], partition)
      await scene.write(beside, [`beside ${partition}`], partition)
    }
    const first = await scene.read(options)
    first.run()
    await first.untilOwned(4)
    await first.untilRead(4)
    assert.deepEqual(first.values.toSorted(), ['beside 0', 'beside 1', 'source 0', 'source 1'])
    assert.equal(new Set(first.consumer.assignment().map(({ epoch }) => epoch)).size, 1)
    const second = await scene.read(options)
    second.run()
    await second.untilOwned(2)
    await first.untilOwned(2)
    const [partition = ''] = second.owned.map((name) => name.slice(-1))
    assert.deepEqual(second.owned, [`${beside}-${partition}`, `${topic}-${partition}`].toSorted())
    assert.deepEqual(first.toldOf('REVOKING').toSorted(), second.owned, 'given back together')
    await scene.write(beside, ['later'], Number(partition))
    await second.untilRead(1)
    assert.deepEqual(second.values, ['later'], 'the first had committed the companion too')
    await Promise.all([first.stop(), second.stop()])
  })
}
