import { type KafkaClient, KafkaError } from '@waybill/kafka'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { sourceEndOf } from '../../../src/partition/key-order/source-end.ts'

const source = { topic: 'orders', partition: 0 }

/** A broker that gives these answers, one after the other. */
function askedOf(...answers: readonly (object | Error)[]) {
  const runtime = createVirtualRuntime(1)
  const left = [...answers]
  const listOffsets = async () => {
    const answer = left.shift()
    if (answer instanceof Error) throw answer
    return [{ ...source, ...answer }]
  }
  const client = { admin: { listOffsets } } as unknown as KafkaClient
  const troubles: string[] = []
  const stopped = new AbortController()
  const failed = ({ message }: Error): void => void troubles.push(message)
  const end = (): Promise<bigint> => sourceEndOf(source, { client, runtime, failed }, stopped.signal)
  return { runtime, troubles, stopped, end }
}

test('the end of the source is asked for until a broker tells it, and each trouble is told', async () => {
  const refused = { outcome: 'FAILED', error: new KafkaError('no leader', 'RETRIABLE') }
  const { runtime, troubles, end } = askedOf(refused, new Error('gone'), { outcome: 'DONE', offset: 7n })
  expect(await runtime.run(end)).toBe(7n)
  expect(troubles).toEqual(['no leader', 'gone'])
})

test('a source without any record ends where it begins', async () => {
  const { runtime, end } = askedOf({ outcome: 'DONE', offset: null })
  expect(await runtime.run(end)).toBe(0n)
})

test('whoever is stopped asks no longer', async () => {
  const { runtime, stopped, end } = askedOf(new Error('gone'), { outcome: 'DONE', offset: 7n })
  const asked = runtime.run(async () => {
    runtime.timers.schedule(10, () => stopped.abort(new Error('stopped')))
    return end()
  })
  await expect(asked).rejects.toThrow('stopped')
})
