/** Topics, their configs and records, and groups seen from outside. */

import {
  ConfigResourceTypes,
  createPartitionsV2,
  createPartitionsV3,
  createTopicsV5,
  createTopicsV6,
  createTopicsV7,
  deleteGroupsV2,
  deleteRecordsV2,
  deleteTopicsV5,
  deleteTopicsV6,
  describeConfigsV4,
  describeGroupsV5,
  IncrementalAlterConfigOperationTypes,
  incrementalAlterConfigsV1,
  listGroupsV4,
  listGroupsV5,
} from '@platformatic/kafka'
import { type ApiBinding, apiBinding, readTopics } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'

const topicResource = ConfigResourceTypes.TOPIC
/** The source of a config that was set for the topic itself. */
const ownConfigSource = 1

export const createTopicsApi: ApiBinding<'CreateTopics'> = apiBinding(
  19,
  { 5: createTopicsV5, 6: createTopicsV6, 7: createTopicsV7 },
  (create, request) =>
    create(
      request.topics.map((topic) => ({ ...topic, assignments: [] })),
      request.timeoutMs,
      request.validateOnly,
    ),
  (reader, version) => ({
    topics: reader.structs(() => {
      const name = reader.text()
      if (version >= 7) reader.uuid()
      const topic = { name, errorCode: reader.int16(), errorMessage: reader.nullableText() }
      reader.int32() // Partitions and replication, then the configs that hold now.
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
  { 5: deleteTopicsV5, 6: deleteTopicsV6 },
  (create, request) =>
    create(
      request.topicNames.map((name) => ({ name, topicId: null })),
      request.timeoutMs,
    ),
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
  { 2: createPartitionsV2, 3: createPartitionsV3 },
  (create, request) =>
    create(
      request.topics.map((topic) => ({ ...topic, assignments: null as unknown as [] })), // Null: the broker places them.
      request.timeoutMs,
      request.validateOnly,
    ),
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
  { 4: describeConfigsV4 },
  (create, request) =>
    create(
      request.topics.map((resourceName) => ({ resourceType: topicResource, resourceName, configurationKeys: null })),
      false,
      false,
    ),
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
  reader.int8() // Its kind: we asked for topics.
  return { name: reader.text(), errorCode, errorMessage }
}

function readConfig(reader: ByteReader) {
  const name = reader.text()
  const value = reader.nullableText()
  reader.boolean() // Read only.
  const isDefault = reader.int8() !== ownConfigSource
  reader.boolean() // Sensitive: the value is null then.
  reader.structs(() => {
    reader.text() // Synonyms, which we did not ask for.
    reader.nullableText()
    reader.int8()
  })
  reader.int8() // Type and documentation.
  reader.nullableText()
  return { name, value, isDefault }
}

const { DELETE, SET } = IncrementalAlterConfigOperationTypes

export const incrementalAlterConfigsApi: ApiBinding<'IncrementalAlterConfigs'> = apiBinding(
  44,
  { 1: incrementalAlterConfigsV1 },
  (create, request) =>
    create(
      request.topics.map(({ name, configs }) => ({
        resourceType: topicResource,
        resourceName: name,
        configs: configs.map((config) =>
          config.value === null
            ? { name: config.name, configOperation: DELETE }
            : { name: config.name, configOperation: SET, value: config.value },
        ),
      })),
      request.validateOnly,
    ),
  (reader) => ({ topics: reader.structs(() => readResource(reader)) }),
)

export const deleteRecordsApi: ApiBinding<'DeleteRecords'> = apiBinding(
  21,
  { 2: deleteRecordsV2 },
  (create, request) => create(request.topics, request.timeoutMs),
  (reader) => ({
    topics: readTopics(reader, () => ({
      partitionIndex: reader.int32(),
      lowWatermark: reader.int64(),
      errorCode: reader.int16(),
    })),
  }),
)

/** Before version 5 there is one type of group, the classic one. */
export const listGroupsApi: ApiBinding<'ListGroups'> = apiBinding(
  16,
  { 4: listGroupsV4, 5: listGroupsV5 },
  (create, request) => create(request.states as never[], []),
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
  { 5: describeGroupsV5 },
  (create, request) => create(request.groups, false),
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
      reader.int32() // Authorised operations.
      return group
    }),
  }),
)

export const deleteGroupsApi: ApiBinding<'DeleteGroups'> = apiBinding(
  42,
  { 2: deleteGroupsV2 },
  (create, request) => create(request.groups),
  (reader) => ({ groups: reader.structs(() => ({ groupId: reader.text(), errorCode: reader.int16() })) }),
)
