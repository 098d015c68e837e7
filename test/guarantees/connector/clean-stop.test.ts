import type { Binding } from '@waybill/connector'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { ConnectorScene, patient, type RecordKind } from '../support/connector-scene.ts'
import { report, scale } from '../support/scale.ts'

const partitions = 4
/** A long run stops it repeatedly, in the middle of other records each time. */
const stops = scale === 'WHOLE' ? 6 : 1
const records = 200 * stops

const setups: readonly (readonly [string, Partial<Omit<Binding, 'handler'>>])[] = [
  ['record by record', { ackMode: 'MANUAL_IMMEDIATE' }],
  ['many at once', { ackMode: 'MANUAL', parallelism: 'UNORDERED', maxInFlight: 16 }],
  ['in the order of keys', { orderingMode: 'KEY', parallelism: 'KEY' }],
]

/** One in ten fails at first, one in fifty permanently. */
function kindOf(index: number): RecordKind {
  if (index % 50 === 20) return 'DEAD'
  return index % 10 === 5 ? 'LATER' : 'OK'
}

describeWith('kafka')('a connector that gets SIGTERM during work', ({ kafka: place }) => {
  test.concurrent.for(setups)(
    'exits on its own, and the next owner repeats nothing and misses nothing: %s',
    { timeout: 240_000 },
    async ([name, binding]) => {
      await using kafka = createKafkaClient({ brokers: place.bootstrap })
      const slug = `stop ${name}`.replaceAll(' ', '-')
      await using scene = await ConnectorScene.open(place, kafka, slug, { binding, partitions, handleMs: 20 })
      await scene.write(
        Array.from({ length: records }, (_, index) => ({ key: `key-${index % 40}`, kind: kindOf(index) })),
      )
      for (let stop = 1; stop <= stops; stop++) {
        const connector = scene.connector()
        await eventually(() => expect(connector.of('HANDLED').length).toBeGreaterThan(20), patient)
        expect(await connector.terminate()).toEqual({ code: 0, signal: null })
      }
      const interrupted = scene.journal.values('OK').length
      expect(interrupted).toBeLessThan(scene.values('OK', 'LATER').length)
      const heir = scene.connector()
      const audit = await scene.settled()
      expect(await heir.terminate()).toEqual({ code: 0, signal: null })

      const { journal } = scene
      expect(audit.flatMap(({ broken }) => broken)).toEqual([])
      expect(journal.values('OK').toSorted()).toEqual(scene.values('OK', 'LATER').toSorted())
      expect(journal.values('DEAD').toSorted()).toEqual(scene.values('DEAD').toSorted())
      expect((await scene.deadLetters()).toSorted()).toEqual(scene.values('DEAD').toSorted())
      if (scene.keepsKeys) expect(journal.disorder(scene.written, [])).toEqual([])
      report(`${slug}: ${interrupted} of ${records} handled before the last stop`)
    },
  )
})
