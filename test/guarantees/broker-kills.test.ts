import { systemTimers } from '@waybill/core/internal'
import { requireAllDone } from '@waybill/kafka'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { describeWhole } from './support/describe-whole.ts'
import { type Load, underLoad } from './support/under-load.ts'

describeWhole(3, 'three brokers, each killed in turn under load', (service) => {
  test('cost no confirmed record, repeat none, and the client recovers by itself', async () => {
    await underLoad(service().url.split(','), async (load) => {
      for (const broker of service().processes) {
        await broker.kill()
        await load.flows()
        await systemTimers.sleep(2_000)
        await broker.start()
        await inSync(load)
        await load.flows()
      }
    })
  }, 900_000)
})

/** Waits for all replicas. Otherwise the next kill would leave too few of them to write to. */
async function inSync({ kafka, topics }: Load): Promise<void> {
  const internal = ['__consumer_offsets', '__transaction_state']
  await eventually(
    async () => {
      const described = requireAllDone('Describing topics', await kafka.admin.describeTopics([...topics, ...internal]))
      const behind = described.flatMap(({ topic, partitions }) =>
        partitions.flatMap((one, index) => (one.inSyncReplicas.length < 3 ? [`${topic}-${index}`] : [])),
      )
      expect(behind).toEqual([])
    },
    { deadlineMs: 120_000, everyMs: 200 },
  )
}
