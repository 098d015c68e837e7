import assert from 'node:assert/strict'
import type { KafkaSuite } from '../kafka-harness.ts'
import { committedOffset, enterGroup, offsetOf, outsider } from './group-requests.ts'
import { type Fetched, fetch, produce } from './log-requests.ts'
import { askProducerId, settledProducerId, WireTransactor } from './producer-requests.ts'
import type { MadeTopic, WireClient } from './wire-client.ts'

/** Tests of transactions: visibility and fencing. */
export function transactionPart(suite: KafkaSuite<WireClient>): void {
  suite.describe('records of a transaction', () => recordTests(suite))
  suite.describe('offsets of a transaction', () => offsetTests(suite))
  suite.describe('a transaction', () => lifeTests(suite))
  suite.describe('a former owner of a transactional id', () => fencingTests(suite))
}

const readCommitted = { isolationLevel: 'READ_COMMITTED' } as const

/** Fetches committed data once that many records and markers exist. */
function fetchCommitted(wire: WireClient, topic: MadeTopic, count: number): Promise<Fetched> {
  return wire.until(
    () => fetch(wire, topic, 0n, readCommitted),
    ({ texts }) => texts.length >= count,
  )
}

function recordTests({ test }: KafkaSuite<WireClient>): void {
  test('are held back from readers of committed records while it is open, with all behind them', async (wire) => {
    const topic = await wire.createTopic('open')
    await produce(wire, topic, ['before'])
    const transactor = await WireTransactor.begin(wire, 'open')
    await transactor.write(topic, ['inside'])
    await produce(wire, topic, ['behind'])
    const committed = await fetch(wire, topic, 0n, readCommitted)
    assert.deepEqual(committed.texts, ['0:before'])
    assert.deepEqual([committed.lastStableOffset, committed.highWatermark], [1n, 3n])
    assert.deepEqual((await fetch(wire, topic, 0n)).texts, ['0:before', '1:inside', '2:behind'])
    assert.equal((await wire.listOffset(topic.name, -1n, 0, 'READ_COMMITTED')).offset, 1n)
    assert.equal((await wire.listOffset(topic.name, -1n)).offset, 3n)
    assert.equal(await transactor.end('COMMIT'), 'NONE')
    const { texts, abortedTransactions } = await fetchCommitted(wire, topic, 4)
    assert.deepEqual(texts, ['0:before', '1:inside', '2:behind', '3:COMMIT'])
    assert.deepEqual(abortedTransactions, [])
  })

  test('wake a reader that waits when their transaction commits', async (wire) => {
    const topic = await wire.createTopic('wake')
    const transactor = await WireTransactor.begin(wire, 'wake')
    await transactor.write(topic, ['inside'])
    const waiting = fetch(wire.another(), topic, 0n, { ...readCommitted, maxWaitMs: 600_000 })
    await transactor.end('COMMIT')
    assert.deepEqual((await waiting).texts, ['0:inside', '1:COMMIT'])
  })

  test('that were aborted are in the log, and listed with what is fetched', async (wire) => {
    const topic = await wire.createTopic('aborted')
    const transactor = await WireTransactor.begin(wire, 'aborted')
    const { producerId } = transactor.identity
    for (const value of ['first', 'second']) {
      await transactor.write(topic, [value])
      await transactor.end('ABORT')
    }
    await transactor.write(topic, ['third'])
    await transactor.end('COMMIT')
    const { texts, abortedTransactions } = await fetchCommitted(wire, topic, 6)
    assert.deepEqual(texts, ['0:first', '1:ABORT', '2:second', '3:ABORT', '4:third', '5:COMMIT'])
    assert.deepEqual(abortedTransactions, [
      { producerId, firstOffset: 0n },
      { producerId, firstOffset: 2n },
    ])
    assert.deepEqual((await fetch(wire, topic, 0n)).abortedTransactions, [], 'nobody asked')
  })

  test('that were aborted are listed also where the marker lies behind what is fetched', async (wire) => {
    const topic = await wire.createTopic('aborted-far')
    const transactor = await WireTransactor.begin(wire, 'aborted-far')
    // Further than a broker's index is coarse.
    const values = ['first', 'a'.repeat(9_000), 'b'.repeat(9_000), 'last']
    for (const value of values) await transactor.write(topic, [value])
    await transactor.end('ABORT')
    await fetchCommitted(wire, topic, 5)
    for (const [offset, value] of values.entries()) {
      const fetched = await fetch(wire, topic, BigInt(offset), { ...readCommitted, partitionMaxBytes: 1 })
      assert.deepEqual(fetched.texts, [`${offset}:${value}`])
      assert.deepEqual(fetched.abortedTransactions, [{ producerId: transactor.identity.producerId, firstOffset: 0n }])
    }
  })

  test('are refused in a partition that was not added to it', async (wire) => {
    const topic = await wire.createTopic('not-added', { partitions: 2 })
    const transactor = await WireTransactor.begin(wire, 'not-added')
    assert.equal((await transactor.produce(topic, ['x'])).error, 'TRANSACTION_ABORTABLE', 'no transaction is open')
    await transactor.write(topic, ['x'], 1)
    assert.equal((await transactor.produce(topic, ['x'])).error, 'TRANSACTION_ABORTABLE', 'another partition is added')
    assert.equal(await transactor.end('ABORT'), 'NONE')
  })
}

function offsetTests({ test }: KafkaSuite<WireClient>): void {
  test('are unstable while it is open; a reader that does not mind gets the old one', async (wire) => {
    const { name } = await wire.createTopic('unstable')
    const groupId = wire.named('unstable')
    const commitOf = (offset: bigint) => ({
      groupId,
      ...outsider,
      topics: [{ name, partitions: [offsetOf(0, offset)] }],
    })
    await wire.send('OffsetCommit', commitOf(1n))
    const transactor = await WireTransactor.begin(wire, 'unstable')
    assert.equal(await transactor.addOffsets(groupId), 'NONE')
    assert.deepEqual(await transactor.commitOffsets(commitOf(5n)), ['NONE'])
    assert.equal(await committedOffset(wire, groupId, name), 'UNSTABLE_OFFSET_COMMIT')
    assert.equal(await committedOffset(wire, groupId, name, { requireStable: false }), 1n)
    assert.equal(await transactor.end('COMMIT'), 'NONE')
    await wire.until(
      () => committedOffset(wire, groupId, name),
      (offset) => offset === 5n,
    )
  })

  test('are forgotten when it is aborted', async (wire) => {
    const { name } = await wire.createTopic('forgotten')
    const groupId = wire.named('forgotten')
    const transactor = await WireTransactor.begin(wire, 'forgotten')
    await transactor.addOffsets(groupId)
    const topics = [{ name, partitions: [offsetOf(0, 5n)] }]
    assert.deepEqual(await transactor.commitOffsets({ groupId, ...outsider, topics }), ['NONE'])
    await transactor.end('ABORT')
    await wire.until(
      () => committedOffset(wire, groupId, name),
      (offset) => offset === -1n,
    )
  })

  test('of several partitions are committed together', async (wire) => {
    const { name } = await wire.createTopic('together', { partitions: 3 })
    const groupId = wire.named('together')
    const transactor = await WireTransactor.begin(wire, 'together')
    await transactor.addOffsets(groupId)
    const partitions = [0, 1, 2].map((partition) => offsetOf(partition, BigInt(partition + 10)))
    const errors = await transactor.commitOffsets({ groupId, ...outsider, topics: [{ name, partitions }] })
    assert.deepEqual(errors, ['NONE', 'NONE', 'NONE'])
    await transactor.end('COMMIT')
    await wire.until(
      () => Promise.all([0, 1, 2].map((partition) => committedOffset(wire, groupId, name, { partition }))),
      (offsets) => String(offsets) === '10,11,12',
    )
  })

  test('are refused from a member that is not the one it says, and taken from outside the group', async (wire) => {
    const { name } = await wire.createTopic('fenced-offsets')
    const member = await enterGroup(wire, 'fenced-offsets', { instanceId: 'place' })
    const { groupId, memberId, generationId } = member
    const transactor = await WireTransactor.begin(wire, 'fenced-offsets')
    await transactor.addOffsets(groupId)
    const topics = [{ name, partitions: [offsetOf(0, 5n)] }]
    const mine = { groupId, memberId, generationId, groupInstanceId: 'place', topics }
    const ask = async (change: Partial<typeof mine> = {}): Promise<string> =>
      String(await transactor.commitOffsets({ ...mine, ...change }))
    assert.equal(await ask({ generationId: generationId - 1 }), 'ILLEGAL_GENERATION')
    assert.equal(await ask({ memberId: 'stranger' }), 'FENCED_INSTANCE_ID')
    assert.equal(
      await transactor.commitOffsets({ ...mine, memberId: 'stranger', groupInstanceId: null }).then(String),
      'UNKNOWN_MEMBER_ID',
    )
    assert.equal(await ask(), 'NONE')
    assert.equal(await transactor.commitOffsets({ groupId, ...outsider, topics }).then(String), 'NONE', 'unfenced')
    assert.equal(await transactor.end('ABORT'), 'NONE')
  })

  test('are refused in a group that was not added to it', async (wire) => {
    const { name } = await wire.createTopic('offsets-not-added')
    const groupId = wire.named('offsets-not-added')
    const transactor = await WireTransactor.begin(wire, 'offsets-not-added')
    const topics = [{ name, partitions: [offsetOf(0, 5n)] }]
    assert.deepEqual(await transactor.commitOffsets({ groupId, ...outsider, topics }), ['TRANSACTION_ABORTABLE'])
  })
}

function lifeTests({ test }: KafkaSuite<WireClient>): void {
  test('cannot end before it began', async (wire) => {
    const transactor = await WireTransactor.begin(wire, 'empty')
    assert.equal(await transactor.end('COMMIT'), 'INVALID_TXN_STATE')
    assert.equal(await transactor.end('ABORT'), 'INVALID_TXN_STATE')
  })

  test('that has ended says so again, and cannot end otherwise', async (wire) => {
    const topic = await wire.createTopic('ended')
    const transactor = await WireTransactor.begin(wire, 'ended')
    for (const [outcome, other] of [
      ['COMMIT', 'ABORT'],
      ['ABORT', 'COMMIT'],
    ] as const) {
      await transactor.write(topic, ['x'])
      assert.equal(await transactor.end(outcome), 'NONE')
      await wire.until(
        () => transactor.end(outcome),
        (error) => error === 'NONE',
      )
      assert.equal(await transactor.end(other), 'INVALID_TXN_STATE')
    }
  })

  test('adds all partitions that are asked for, or none', async (wire) => {
    const topic = await wire.createTopic('all-or-none')
    const transactor = await WireTransactor.begin(wire, 'all-or-none')
    const errors = await transactor.addPartitions(topic, [0, 9])
    assert.deepEqual(errors.toSorted(), ['OPERATION_NOT_ATTEMPTED', 'UNKNOWN_TOPIC_OR_PARTITION'])
    assert.equal((await transactor.produce(topic, ['x'])).error, 'TRANSACTION_ABORTABLE')
  })

  test('of a producer that nobody knows is refused', async (wire) => {
    const topic = await wire.createTopic('nobody')
    const transactor = await WireTransactor.begin(wire, 'nobody')
    const stranger = { ...transactor.identity, producerId: transactor.identity.producerId + 1_000_000n }
    const { transactionalId } = transactor
    const added = await wire.send('AddPartitionsToTxn', {
      transactionalId,
      ...stranger,
      topics: [{ name: topic.name, partitions: [0] }],
    })
    assert.equal(added.topics[0]?.partitions[0]?.errorCode, 49, 'INVALID_PRODUCER_ID_MAPPING')
  })

  test('is aborted when somebody else takes over its transactional id', async (wire) => {
    const topic = await wire.createTopic('taken-over')
    const former = await WireTransactor.begin(wire, 'taken-over')
    await former.write(topic, ['of the former'])
    assert.equal((await askProducerId(wire, former.transactionalId)).error, 'CONCURRENT_TRANSACTIONS')
    const owner = await WireTransactor.begin(wire, 'taken-over')
    assert.equal(owner.identity.producerId, former.identity.producerId)
    assert.equal(owner.identity.producerEpoch, former.identity.producerEpoch + 2, 'one to abort, one to begin')
    await owner.write(topic, ['of the owner'])
    await owner.end('COMMIT')
    const { texts, abortedTransactions } = await fetchCommitted(wire, topic, 4)
    assert.deepEqual(texts, ['0:of the former', '1:ABORT', '2:of the owner', '3:COMMIT'])
    assert.deepEqual(abortedTransactions, [{ producerId: owner.identity.producerId, firstOffset: 0n }])
  })
}

function fencingTests({ test }: KafkaSuite<WireClient>): void {
  test('can neither add, nor write, nor end', async (wire) => {
    const topic = await wire.createTopic('fenced', { partitions: 2 })
    const groupId = wire.named('fenced')
    const former = await WireTransactor.begin(wire, 'fenced')
    await former.write(topic, ['before'])
    await former.addOffsets(groupId)
    const owner = await WireTransactor.begin(wire, 'fenced')
    const topics = [{ name: topic.name, partitions: [offsetOf(0, 5n)] }]
    assert.deepEqual(await former.addPartitions(topic, [1]), ['PRODUCER_FENCED'])
    assert.equal((await former.produce(topic, ['late'])).error, 'INVALID_PRODUCER_EPOCH')
    assert.equal((await former.produce(topic, ['late'], 1)).error, 'INVALID_PRODUCER_EPOCH')
    assert.equal(await former.addOffsets(groupId), 'PRODUCER_FENCED')
    assert.deepEqual(await former.commitOffsets({ groupId, ...outsider, topics }), ['INVALID_PRODUCER_EPOCH'])
    assert.equal(await former.end('COMMIT'), 'PRODUCER_FENCED')
    assert.equal(await former.end('ABORT'), 'PRODUCER_FENCED')
    assert.equal((await settledProducerId(wire, former.transactionalId, former.identity)).error, 'PRODUCER_FENCED')
    await owner.write(topic, ['after'])
    assert.equal(await owner.end('COMMIT'), 'NONE')
  })
}
