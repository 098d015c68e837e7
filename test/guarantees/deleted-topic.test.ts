import { createKafkaClient, requireAllDone } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Crew, noFaults } from './support/crew.ts'
import { Ledger, readLog } from './support/ledger.ts'
import { OffsetWatch } from './support/offset-watch.ts'
import { Writer } from './support/writer.ts'

const partitions = 3
const patient = { deadlineMs: 120_000, everyMs: 50 }

describeWith('kafka')('one of two subscribed topics', ({ kafka: place }) => {
  test('is deleted and created again, and the other flows on: nothing skipped, nothing twice', async () => {
    const kept = await place.createTopic('kept', { partitions })
    const doomed = await place.createTopic('doomed', { partitions })
    const groupId = place.named('deleted-topic')
    await using kafka = createKafkaClient({ brokers: place.bootstrap })
    const ledger = new Ledger()
    await using crew = new Crew(kafka, {
      groupId,
      topics: [kept, doomed],
      ledger,
      handleMs: () => 0,
      heartbeatIntervalMs: 100,
      metadataRefreshMs: 500,
      maxWaitMs: 100,
    })
    await crew.enter()
    await crew.enter()
    await using writer = new Writer(kafka, { topic: kept, partitions, everyMs: 10 })
    await using watch = new OffsetWatch(kafka, groupId, kept)
    const flows = async (): Promise<void> => {
      const { size } = ledger
      await eventually(() => expect(ledger.size).toBeGreaterThan(size + 100), patient)
    }
    const fill = async (name: string): Promise<void> => {
      await using filler = new Writer(kafka, { topic: doomed, name, partitions, everyMs: 1 })
      await eventually(() => expect(filler.all.length).toBeGreaterThan(100), patient)
      await filler.stop()
      expect(filler.failures).toEqual([])
      await eventually(() => expect(ledger.missing(filler.all)).toEqual([]), patient)
    }
    await fill('first ')

    requireAllDone('Deleting a topic', await kafka.admin.deleteTopics([doomed]))
    await flows()
    // The group changes owners while the topic is gone.
    await crew.enter()
    await flows()
    crew.leave(0)
    await crew.left()
    await flows()
    const again = [{ topic: doomed, partitions, replication: -1 }]
    requireAllDone('Creating it again', await kafka.admin.createTopics(again))
    await fill('second ')
    await flows()

    await writer.stop()
    await eventually(() => expect(ledger.missing(writer.all)).toEqual([]), patient)
    await crew.stop()
    await watch.stop()
    expect(await readLog(kafka, place.named('audit-kept'), kept)).toEqual(writer.sent)
    // The group has lost the old partitions: that is how it learns that the topic was recreated.
    const lost = crew.faults.lost.filter((partition) => !partition.includes(doomed))
    const found = { ...crew.faults, lost, failures: writer.failures, setbacks: watch.setbacks }
    expect(found).toEqual({ ...noFaults, failures: [], setbacks: [] })
  }, 300_000)
})
