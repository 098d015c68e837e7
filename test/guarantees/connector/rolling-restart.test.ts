import { systemTimers } from '@waybill/core/internal'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { Child } from '../support/child.ts'
import type { ConnectorMessage } from '../support/connector-process.ts'
import { ConnectorScene, patient, type RecordKind } from '../support/connector-scene.ts'
import { report, scale } from '../support/scale.ts'

const { records, keys, rounds, partitions } =
  scale === 'WHOLE'
    ? { records: 30_000, keys: 2_000, rounds: 3, partitions: 12 }
    : { records: 400, keys: 40, rounds: 1, partitions: 6 }
/** Records written at a time. */
const portion = records / 20
const portionEveryMs = 500

/** All records of one key in twenty fail at first. */
const kindOf = (key: number): RecordKind => (key % 20 === 0 ? 'LATER' : 'OK')

/** Writes for as long as processes come and go, so that there is work for each, and until enough is written. */
async function writeUntil(scene: ConnectorScene, isOver: () => boolean): Promise<void> {
  while (!isOver() || scene.written.length < records) {
    const indexes = Array.from({ length: portion }, (_, index) => scene.written.length + index)
    await scene.write(indexes.map((index) => ({ key: `key-${index % keys}`, kind: kindOf(index % keys) })))
    await systemTimers.sleep(portionEveryMs)
  }
}

/** Terminates one process after the other as an orchestrator does, and replaces each. */
async function restartEach(scene: ConnectorScene, fleet: Child<ConnectorMessage>[]): Promise<void> {
  for (let index = 0; index < fleet.length; index++) {
    const leaving = fleet[index] as Child<ConnectorMessage>
    await eventually(() => expect(leaving.of('HANDLED').length).toBeGreaterThan(0), patient)
    expect(await leaving.terminate()).toEqual({ code: 0, signal: null })
    const next = scene.connector()
    fleet[index] = next
    await eventually(() => expect(next.of('RUNNING')).toHaveLength(1), patient)
  }
}

describeWith('kafka')('three connectors of one group that are restarted in turn', ({ kafka: place }) => {
  test('handle every record once, in the order of its key, though one key in twenty fails', async () => {
    await using kafka = createKafkaClient({ brokers: place.bootstrap })
    await using scene = await ConnectorScene.open(place, kafka, 'rolling', {
      binding: { orderingMode: 'KEY', parallelism: 'KEY' },
      partitions,
      handleMs: 1,
    })
    const fleet = [scene.connector(), scene.connector(), scene.connector()]
    let isOver = false
    const writing = writeUntil(scene, () => isOver)
    for (let round = 0; round < rounds; round++) await restartEach(scene, fleet)
    isOver = true
    await writing
    const audit = await scene.settled(300_000)
    for (const one of fleet) expect(await one.terminate()).toEqual({ code: 0, signal: null })

    const { journal } = scene
    expect(audit.flatMap(({ broken }) => broken)).toEqual([])
    expect(journal.values('OK').toSorted()).toEqual(scene.values('OK', 'LATER').toSorted())
    expect(journal.disorder(scene.written, [])).toEqual([])
    const failures = journal.values('FAIL').length
    expect(failures).toBeGreaterThanOrEqual(2 * scene.values('LATER').length)
    report(`${scene.written.length} records of ${keys} keys, ${failures} failures, ${rounds * fleet.length} restarts`)
  }, 900_000)
})
