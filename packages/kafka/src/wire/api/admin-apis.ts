/** Administration of topics, their configs and records, and of groups. */

import { type ApiBinding, apiBinding, noTopicId, readTopics, writeTopics } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'

/** The type of a config resource that is a topic. */
const topicResource = 2
/** The source of a config that is set on the topic itself. */
const ownConfigSource = 1

export const createTopicsApi: ApiBinding<'CreateTopics'> = apiBinding(
  19,
  [7, 6, 5],
  (writer, request) =>
    writer
      .structs(request.topics, (topic) =>
        writer
          .text(topic.name)
          .int32(topic.numPartitions)
          .int16(topic.replicationFactor)
          .list([], () => {}) // No assignments: the broker places the replicas.
          .structs(topic.configs, ({ name, value }) => writer.text(name).text(value)),
      )
      .int32(request.timeoutMs)
      .boolean(request.validateOnly),
  (reader, version) => ({
    topics: reader.structs(() => {
      const name = reader.text()
      if (version >= 7) reader.uuid()
      const topic = { name, errorCode: reader.int16(), errorMessage: reader.nullableText() }
      reader.int32() // Partitions and replication factor, then the effective configs.
      reader.int16()
      reader.structs(() => {
        reader.text()
        reader.nullableText()
        reader.boolean()
        reader.int8()
        reader.boolean()
      })
      return topic
    }),
  }),
)

export const deleteTopicsApi: ApiBinding<'DeleteTopics'> = apiBinding(
  20,
  [6, 5],
  (writer, { topicNames, timeoutMs }, version) => {
    if (version < 6) writer.list(topicNames, (name) => writer.text(name))
    else writer.structs(topicNames, (name) => writer.text(name).uuid(noTopicId))
    writer.int32(timeoutMs)
  },
  (reader, version) => ({
    topics: reader.structs(() => {
      const name = reader.text()
      if (version >= 6) reader.uuid()
      return { name, errorCode: reader.int16(), errorMessage: reader.nullableText() }
    }),
  }),
)

export const createPartitionsApi: ApiBinding<'CreatePartitions'> = apiBinding(
  37,
  [3, 2],
  (writer, request) =>
    writer
      .structs(request.topics, ({ name, count }) =>
        // No assignments: the broker places the replicas.
        writer
          .text(name)
          .int32(count)
          .list(null, () => {}),
      )
      .int32(request.timeoutMs)
      .boolean(request.validateOnly),
  (reader) => ({
    topics: reader.structs(() => ({
      name: reader.text(),
      errorCode: reader.int16(),
      errorMessage: reader.nullableText(),
    })),
  }),
)

export const describeConfigsApi: ApiBinding<'DescribeConfigs'> = apiBinding(
  32,
  [4],
  (writer, { topics }) =>
    writer
      .structs(topics, (name) =>
        // All keys.
        writer
          .int8(topicResource)
          .text(name)
          .list(null, () => {}),
      )
      .boolean(false) // No synonyms, no documentation.
      .boolean(false),
  (reader) => ({
    topics: reader.structs(() => ({
      ...readResource(reader),
      configs: reader.structs(() => readConfig(reader)),
    })),
  }),
)

function readResource(reader: ByteReader) {
  const errorCode = reader.int16()
  const errorMessage = reader.nullableText()
  reader.int8() // Its type: only topics were requested.
  return { name: reader.text(), errorCode, errorMessage }
}

function readConfig(reader: ByteReader) {
  const name = reader.text()
  const value = reader.nullableText()
  reader.boolean() // Read only.
  const isDefault = reader.int8() !== ownConfigSource
  reader.boolean() // Sensitive: the value is null then.
  reader.structs(() => {
    reader.text() // Synonyms, which were not requested.
    reader.nullableText()
    reader.int8()
  })
  reader.int8() // Type and documentation.
  reader.nullableText()
  return { name, value, isDefault }
}

const configOperation = { SET: 0, DELETE: 1 } as const

export const incrementalAlterConfigsApi: ApiBinding<'IncrementalAlterConfigs'> = apiBinding(
  44,
  [1],
  (writer, request) =>
    writer
      .structs(request.topics, (topic) =>
        writer
          .int8(topicResource)
          .text(topic.name)
          .structs(topic.configs, ({ name, value }) =>
            writer
              .text(name)
              .int8(value === null ? configOperation.DELETE : configOperation.SET)
              .text(value),
          ),
      )
      .boolean(request.validateOnly),
  (reader) => ({ topics: reader.structs(() => readResource(reader)) }),
)

export const deleteRecordsApi: ApiBinding<'DeleteRecords'> = apiBinding(
  21,
  [2],
  (writer, { topics, timeoutMs }) =>
    writeTopics(writer, topics, ({ partitionIndex, offset }) => writer.int32(partitionIndex).int64(offset)).int32(
      timeoutMs,
    ),
  (reader) => ({
    topics: readTopics(reader, () => ({
      partitionIndex: reader.int32(),
      lowWatermark: reader.int64(),
      errorCode: reader.int16(),
    })),
  }),
)

/** Before version 5 every group is classic. */
export const listGroupsApi: ApiBinding<'ListGroups'> = apiBinding(
  16,
  [5, 4],
  (writer, { states }, version) => {
    writer.list(states, (state) => writer.text(state))
    if (version >= 5) writer.list([], () => {}) // Any type.
  },
  (reader, version) => ({
    errorCode: reader.int16(),
    groups: reader.structs(() => ({
      groupId: reader.text(),
      protocolType: reader.text(),
      groupState: reader.text(),
      groupType: version >= 5 ? reader.text() : 'classic',
    })),
  }),
)

export const describeGroupsApi: ApiBinding<'DescribeGroups'> = apiBinding(
  15,
  [5],
  (writer, { groups }) => writer.list(groups, (group) => writer.text(group)).boolean(false), // No authorized operations.
  (reader) => ({
    groups: reader.structs(() => {
      const group = {
        errorCode: reader.int16(),
        groupId: reader.text(),
        groupState: reader.text(),
        protocolType: reader.text(),
        protocolData: reader.text(),
        members: reader.structs(() => ({
          memberId: reader.text(),
          groupInstanceId: reader.nullableText(),
          clientId: reader.text(),
          clientHost: reader.text(),
          memberMetadata: reader.bytes(),
          memberAssignment: reader.bytes(),
        })),
      }
      reader.int32() // Authorized operations.
      return group
    }),
  }),
)

export const deleteGroupsApi: ApiBinding<'DeleteGroups'> = apiBinding(
  42,
  [2],
  (writer, { groups }) => writer.list(groups, (group) => writer.text(group)),
  (reader) => ({ groups: reader.structs(() => ({ groupId: reader.text(), errorCode: reader.int16() })) }),
)
