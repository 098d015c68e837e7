import { OptionsError } from '@waybill/core'
import { runOnSim } from '@waybill/test-support/kafka'
import { expect, test } from 'vitest'
import type { Admin } from '../../../src/client/admin/admin.ts'

test.each<[keyof Admin, unknown, string]>([
  ['createTopics', undefined, 'topics is required'],
  ['createTopics', 'orders', 'topics must be a list'],
  ['createTopics', ['orders'], 'topics[0] must be an object, got "orders"'],
  ['createTopics', [{ topic: 'orders' }], 'topics[0].partitions is required'],
  ['createTopics', [{ topic: 'orders', partition: 1, replication: 1 }], 'did you mean partitions?'],
  ['createTopics', [{ topic: 'a', partitions: 1, replication: 1, configs: { 'retention.ms': 1 } }], 'must be a string'],
  ['deleteTopics', 'orders', 'topics must be a list'],
  ['describeTopics', 'orders', 'topics must be a list'],
  ['describeConfigs', undefined, 'topics is required'],
  ['createPartitions', undefined, 'counts is required'],
  ['createPartitions', { orders: '4' }, 'counts.orders must be an integer'],
  ['alterConfigs', { orders: 'compact' }, 'changes.orders must be an object'],
  ['deleteRecords', undefined, 'partitions is required'],
  ['listOffsets', ['orders'], 'partitions[0] must be an object like { topic, partition }'],
  ['groupOffsets', undefined, 'groupId is required'],
  ['alterGroupOffsets', {}, 'groupId must be a text'],
  ['describeGroups', 'shipping', 'groupIds must be a list'],
  ['deleteGroups', undefined, 'groupIds is required'],
])('%s refuses %j before any request, and names the expected type', async (call, given, problem) => {
  await runOnSim(async ({ admin }) => {
    const asked = (admin[call] as (first: unknown) => Promise<unknown>)(given)
    await expect(asked).rejects.toBeInstanceOf(OptionsError)
    await expect(asked).rejects.toThrow(problem)
  })
})
