/** Responses in the versions of older brokers, and those that a broker fills only when something is wrong. */

import { Buffer } from 'node:buffer'
import type { KafkaApi, ResponseOf } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { apiTable } from '../../../src/wire/api/api-table.ts'
import { ByteReader } from '../../../src/wire/api/byte-reader.ts'
import { ByteWriter } from '../../../src/wire/api/byte-writer.ts'

const topicId = '00112233-4455-6677-8899-aabbccddeeff'

const none = (to: ByteWriter): ByteWriter => to.structs([], () => {})
const coordinators = (to: ByteWriter): ByteWriter =>
  to.structs(['group'], (key) => to.text(key).int32(7).text('b7').int32(9092).int16(15).text('not yet'))

/** Reads a response, and expects that nothing but its tagged fields is left. */
function read<A extends KafkaApi>(api: A, version: number, write: (writer: ByteWriter) => void): ResponseOf<A> {
  const writer = new ByteWriter()
  if (api !== 'Produce') writer.int32(0) // Throttle time.
  write(writer)
  const reader = new ByteReader(Buffer.concat([...writer.noTags().buffers]), (what) => new Error(what))
  const response = apiTable[api].read(reader, version)
  if (api === 'Produce') reader.int32()
  reader.skipTags()
  expect(reader.remaining).toBe(0)
  return response
}

test('FindCoordinator has one coordinator before version 4 and a list of them since', () => {
  const found = { errorCode: 15, errorMessage: 'not yet', nodeId: 7, host: 'b7', port: 9092 }
  expect(read('FindCoordinator', 3, (to) => to.int16(15).text('not yet').int32(7).text('b7').int32(9092))).toEqual(
    found,
  )
  expect(read('FindCoordinator', 4, coordinators)).toEqual(found)
})

test('a list without the group or the coordinator that was asked for is an error', () => {
  expect(read('FindCoordinator', 4, none)).toMatchObject({ errorCode: -1, nodeId: -1 })
  expect(read('OffsetFetch', 8, none)).toEqual({ errorCode: -1, topics: [] })
})

test('OffsetFetch has the offsets of one group before version 8', () => {
  expect(read('OffsetFetch', 7, (to) => to.structs([], () => {}).int16(14))).toEqual({ errorCode: 14, topics: [] })
})

test.each([8, 9])('JoinGroup of version %s has skipAssignment from version 9 on', (version) => {
  const response = read('JoinGroup', version, (to) => {
    to.int16(0).int32(3).text('consumer').text('range').text('leader')
    if (version >= 9) to.boolean(true)
    to.text('me').structs([], () => {})
  })
  expect(response).toMatchObject({ skipAssignment: version >= 9, leader: 'leader', memberId: 'me', members: [] })
})

test.each([
  [null, 'too old'],
  ['rejected', 'rejected'],
])('Produce takes the message of a record where the partition has none: %j', (message, expected) => {
  const response = read('Produce', 11, (to) =>
    to
      .structs(['orders'], (name) =>
        to.text(name).structs([4], (partition) =>
          to
            .int32(partition)
            .int16(87)
            .int64(-1n)
            .int64(-1n)
            .int64(0n)
            .structs([null, 'too old'], (words) => to.int32(0).text(words))
            .text(message),
        ),
      )
      .int32(0),
  )
  expect(response.topics[0]?.partitions[0]).toMatchObject({ partitionIndex: 4, errorCode: 87, errorMessage: expected })
})

test.each([6, 7])('CreateTopics of version %s has topic ids from version 7 on', (version) => {
  const response = read('CreateTopics', version, (to) =>
    to.structs(['orders'], (name) => {
      to.text(name)
      if (version >= 7) to.uuid(topicId)
      to.int16(36)
        .text('exists')
        .int32(1)
        .int16(1)
        .structs(null, () => {})
    }),
  )
  expect(response).toEqual({ topics: [{ name: 'orders', errorCode: 36, errorMessage: 'exists' }] })
})

test.each([5, 6])('DeleteTopics of version %s has topic ids from version 6 on', (version) => {
  const response = read('DeleteTopics', version, (to) =>
    to.structs(['orders'], (name) => {
      to.text(name)
      if (version >= 6) to.uuid(topicId)
      to.int16(3).text(null)
    }),
  )
  expect(response).toEqual({ topics: [{ name: 'orders', errorCode: 3, errorMessage: null }] })
})

test.each([
  [4, 'classic'],
  [5, 'consumer'],
])('ListGroups of version %s names the type %s', (version, type) => {
  const response = read('ListGroups', version, (to) =>
    to.int16(0).structs(['g'], (group) => {
      to.text(group).text('consumer').text('Stable')
      if (version >= 5) to.text(type)
    }),
  )
  expect(response.groups).toEqual([{ groupId: 'g', protocolType: 'consumer', groupState: 'Stable', groupType: type }])
})

test('requests whose later versions mean something else stay at the version that the client follows', () => {
  expect(apiTable.Produce.versions[0]).toBe(11)
  expect(apiTable.EndTxn.versions[0]).toBe(4)
  expect(apiTable.AddPartitionsToTxn.versions).toEqual([3])
})
