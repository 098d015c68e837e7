/** Every request in every version, byte for byte as an independent encoder writes it. */

import { Buffer } from 'node:buffer'
import * as library from '@platformatic/kafka'
import type { KafkaApi, RequestOf } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apiTable } from '../../../src/wire/api/api-table.ts'
import { ByteWriter } from '../../../src/wire/api/byte-writer.ts'

/** One way to make a request, and the arguments of the library's function for it. */
interface Subject<A extends KafkaApi> {
  readonly requests: fc.Arbitrary<RequestOf<A>>
  readonly args: (request: RequestOf<A>) => readonly unknown[]
}

// Around the lengths at which a varint grows by a byte and a buffer by more memory.
const text = fc.oneof(
  fc.string({ maxLength: 20, unit: 'grapheme' }),
  fc.constantFrom('', 'a'.repeat(126), 'b'.repeat(127), 'ü'.repeat(300), 'c'.repeat(16_400)),
)
const nullableText = fc.option(text, { nil: null })
const bytes = fc
  .oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.constantFrom(1_023, 1_024, 9_000).map((length) => new Uint8Array(length)),
  )
  .map((array) => Buffer.from(array))
const int16 = fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 })
const int32 = fc.oneof(fc.integer(), fc.constantFrom(-1, 0, 2 ** 31 - 1, -(2 ** 31)))
const int64 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constantFrom(-1n, 0n))
const list = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.oneof(fc.array(item, { maxLength: 4 }), fc.array(item, { minLength: 127, maxLength: 130 }))
const shortList = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(item, { maxLength: 4 })
const topics = <P>(partition: fc.Arbitrary<P>) => shortList(fc.record({ name: text, partitions: list(partition) }))
const member = { groupId: text, generationId: int32, memberId: text, groupInstanceId: nullableText }
const producer = { producerId: int64, producerEpoch: int16 }
const isolationLevel = fc.constantFrom('READ_UNCOMMITTED' as const, 'READ_COMMITTED' as const)
const isolationNumber = { READ_UNCOMMITTED: 0, READ_COMMITTED: 1 }
const offset = fc.record({
  partitionIndex: int32,
  committedOffset: int64,
  committedLeaderEpoch: int32,
  committedMetadata: nullableText,
})

const subjects: { readonly [A in Exclude<KafkaApi, 'Produce'>]: Subject<A> } = {
  Metadata: {
    requests: fc.record({ topics: fc.option(list(text), { nil: null }) }),
    args: (request) => [request.topics, false, false],
  },
  FindCoordinator: {
    requests: fc.record({ kind: fc.constantFrom('GROUP' as const, 'TRANSACTION' as const), key: text }),
    args: ({ kind, key }) => [kind === 'GROUP' ? 0 : 1, [key]],
  },
  JoinGroup: {
    requests: fc.record({
      groupId: text,
      sessionTimeoutMs: int32,
      rebalanceTimeoutMs: int32,
      memberId: text,
      groupInstanceId: nullableText,
      protocolType: text,
      protocols: shortList(fc.record({ name: text, metadata: bytes })),
      reason: text,
    }),
    args: (request) => [
      request.groupId,
      request.sessionTimeoutMs,
      request.rebalanceTimeoutMs,
      request.memberId,
      request.groupInstanceId,
      request.protocolType,
      request.protocols,
      request.reason,
    ],
  },
  SyncGroup: {
    requests: fc.record({
      ...member,
      protocolType: text,
      protocolName: text,
      assignments: shortList(fc.record({ memberId: text, assignment: bytes })),
    }),
    args: (request) => [...memberArgs(request), request.protocolType, request.protocolName, request.assignments],
  },
  Heartbeat: { requests: fc.record(member), args: memberArgs },
  LeaveGroup: {
    requests: fc.record({
      groupId: text,
      members: list(fc.record({ memberId: text, groupInstanceId: nullableText, reason: text })),
    }),
    args: ({ groupId, members }) => [groupId, members],
  },
  OffsetCommit: {
    requests: fc.record({ ...member, topics: topics(offset) }),
    args: (request) => [...memberArgs(request), request.topics],
  },
  OffsetFetch: {
    requests: fc.record({
      groupId: text,
      topics: fc.option(shortList(fc.record({ name: text, partitionIndexes: list(int32) })), { nil: null }),
      requireStable: fc.boolean(),
    }),
    args: (request) => [
      [{ groupId: request.groupId, memberId: null, memberEpoch: -1, topics: request.topics }],
      request.requireStable,
    ],
  },
  Fetch: {
    requests: fc.record({
      maxWaitMs: int32,
      minBytes: int32,
      maxBytes: int32,
      isolationLevel,
      sessionId: int32,
      sessionEpoch: int32,
      topics: shortList(
        fc.record({
          topicId: fc.uuid(),
          partitions: list(
            fc.record({
              partition: int32,
              currentLeaderEpoch: int32,
              fetchOffset: int64,
              lastFetchedEpoch: int32,
              partitionMaxBytes: int32,
            }),
          ),
        }),
      ),
      forgottenTopics: shortList(fc.record({ topicId: fc.uuid(), partitions: list(int32) })),
    }),
    args: (request) => [
      request.maxWaitMs,
      request.minBytes,
      request.maxBytes,
      isolationNumber[request.isolationLevel],
      request.sessionId,
      request.sessionEpoch,
      request.topics,
      request.forgottenTopics,
      '',
    ],
  },
  ListOffsets: {
    requests: fc.record({
      isolationLevel,
      topics: topics(fc.record({ partitionIndex: int32, currentLeaderEpoch: int32, timestamp: int64 })),
    }),
    args: (request) => [-1, isolationNumber[request.isolationLevel], request.topics],
  },
  InitProducerId: {
    requests: fc.record({ transactionalId: nullableText, transactionTimeoutMs: int32, ...producer }),
    args: (request) => [
      request.transactionalId,
      request.transactionTimeoutMs,
      request.producerId,
      request.producerEpoch,
    ],
  },
  AddPartitionsToTxn: {
    requests: fc.record({ transactionalId: text, ...producer, topics: topics(int32) }),
    args: (request) => [[{ ...request, verifyOnly: false }]],
  },
  AddOffsetsToTxn: {
    requests: fc.record({ transactionalId: text, ...producer, groupId: text }),
    args: (request) => [request.transactionalId, request.producerId, request.producerEpoch, request.groupId],
  },
  TxnOffsetCommit: {
    requests: fc.record({ transactionalId: text, ...producer, ...member, topics: topics(offset) }),
    args: (request) => [
      request.transactionalId,
      request.groupId,
      request.producerId,
      request.producerEpoch,
      request.generationId,
      request.memberId,
      request.groupInstanceId,
      request.topics,
    ],
  },
  EndTxn: {
    requests: fc.record({ transactionalId: text, ...producer, committed: fc.boolean() }),
    args: (request) => [request.transactionalId, request.producerId, request.producerEpoch, request.committed],
  },
  CreateTopics: {
    requests: fc.record({
      topics: list(
        fc.record({
          name: text,
          numPartitions: int32,
          replicationFactor: int16,
          configs: shortList(fc.record({ name: text, value: nullableText })),
        }),
      ),
      timeoutMs: int32,
      validateOnly: fc.boolean(),
    }),
    args: (request) => [
      request.topics.map((topic) => ({ ...topic, assignments: [] })),
      request.timeoutMs,
      request.validateOnly,
    ],
  },
  DeleteTopics: {
    requests: fc.record({ topicNames: list(text), timeoutMs: int32 }),
    args: (request) => [request.topicNames.map((name) => ({ name, topicId: null })), request.timeoutMs],
  },
  CreatePartitions: {
    requests: fc.record({
      topics: list(fc.record({ name: text, count: int32 })),
      timeoutMs: int32,
      validateOnly: fc.boolean(),
    }),
    args: (request) => [
      request.topics.map((topic) => ({ ...topic, assignments: null })),
      request.timeoutMs,
      request.validateOnly,
    ],
  },
  DescribeConfigs: {
    requests: fc.record({ topics: list(text) }),
    args: (request) => [
      request.topics.map((resourceName) => ({ resourceType: 2, resourceName, configurationKeys: null })),
      false,
      false,
    ],
  },
  IncrementalAlterConfigs: {
    requests: fc.record({
      topics: shortList(fc.record({ name: text, configs: list(fc.record({ name: text, value: nullableText })) })),
      validateOnly: fc.boolean(),
    }),
    args: (request) => [
      request.topics.map(({ name, configs }) => ({
        resourceType: 2,
        resourceName: name,
        configs: configs.map((config) =>
          config.value === null
            ? { name: config.name, configOperation: 1 }
            : { name: config.name, configOperation: 0, value: config.value },
        ),
      })),
      request.validateOnly,
    ],
  },
  DeleteRecords: {
    requests: fc.record({ topics: topics(fc.record({ partitionIndex: int32, offset: int64 })), timeoutMs: int32 }),
    args: (request) => [request.topics, request.timeoutMs],
  },
  ListGroups: { requests: fc.record({ states: list(text) }), args: ({ states }) => [states, []] },
  DescribeGroups: { requests: fc.record({ groups: list(text) }), args: ({ groups }) => [groups, false] },
  DeleteGroups: { requests: fc.record({ groups: list(text) }), args: ({ groups }) => [groups] },
}

function memberArgs(request: RequestOf<'Heartbeat'>): readonly unknown[] {
  return [request.groupId, request.generationId, request.memberId, request.groupInstanceId]
}

/** The library's encoder of one version of a request. */
interface LibraryApi {
  readonly api: { readonly key: number; readonly version: number }
  readonly createRequest: (...args: readonly unknown[]) => library.Writer
}

function libraryApi(name: string, version: number): LibraryApi {
  const found = (library as unknown as Record<string, LibraryApi>)[
    `${name[0]?.toLowerCase()}${name.slice(1)}V${version}`
  ]
  if (found === undefined) throw new Error(`The library has no ${name} ${version}.`)
  return found
}

const cases = (Object.keys(subjects) as (keyof typeof subjects)[]).flatMap((api) =>
  apiTable[api].versions.map((version) => [api, version] as const),
)

describe('request encoding', () => {
  test.each(cases)('%s version %i is byte for byte that of the library', (api, version) => {
    expectSameBytes(api, version)
  })

  test.each(apiTable.Produce.versions)('Produce version %i is byte for byte that of the library', (version) => {
    const requests = fc.record({
      transactionalId: nullableText,
      timeoutMs: int32,
      topics: topics(fc.record({ partitionIndex: int32, records: fc.array(bytes, { maxLength: 3 }) })),
    })
    fc.assert(
      fc.property(requests, (request) => {
        const written = Buffer.concat([...apiTable.Produce.write(request, version).buffers])
        expect(written.equals(produceByLibrary(request))).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  test('the requests of a connection are byte for byte those of the library', () => {
    const message = Buffer.from('secret')
    expect(bytesOf(new ByteWriter().text('waybill').text('0').noTags())).toEqual(
      library.apiVersionsV3.createRequest('waybill', '0').buffer,
    )
    expect(bytesOf(new ByteWriter().shortText('SCRAM-SHA-512'))).toEqual(
      library.saslHandshakeV1.createRequest('SCRAM-SHA-512').buffer,
    )
    expect(bytesOf(new ByteWriter().bytes(message).noTags())).toEqual(
      library.saslAuthenticateV2.createRequest(message).buffer,
    )
  })
})

function expectSameBytes(api: keyof typeof subjects, version: number): void {
  // One subject of many: its own request goes to its own encoder.
  const { requests, args } = subjects[api] as unknown as Subject<'Heartbeat'>
  const write = apiTable[api].write as unknown as (typeof apiTable)['Heartbeat']['write']
  const { api: theirs, createRequest } = libraryApi(api, version)
  expect([theirs.key, theirs.version]).toEqual([apiTable[api].key, version])
  fc.assert(
    fc.property(requests, (request) => {
      const body = write(request, version)
      const written = bytesOf(body)
      expect(written).toHaveLength(body.length)
      expect(written.equals(createRequest(...args(request)).buffer)).toBe(true)
    }),
    { numRuns: 30 },
  )
}

/** The library's own function for Produce takes records, not batches, so its writer is used directly. */
function produceByLibrary(request: RequestOf<'Produce'>): Buffer {
  return library.Writer.create()
    .appendString(request.transactionalId)
    .appendInt16(-1)
    .appendInt32(request.timeoutMs)
    .appendArray([...request.topics], (writer, { name, partitions }) => {
      writer.appendString(name).appendArray([...partitions], (inner, { partitionIndex, records }) => {
        inner.appendInt32(partitionIndex).appendBytes(Buffer.concat([...records]))
      })
    })
    .appendTaggedFields().buffer
}

function bytesOf({ buffers }: { readonly buffers: readonly Buffer[] }): Buffer {
  return Buffer.concat([...buffers])
}
