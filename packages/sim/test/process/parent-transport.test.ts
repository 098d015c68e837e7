import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createSimCluster, parentTransport, type SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'

function startWriter(cluster: SimCluster, count: number): ChildProcess {
  const child = fork(join(import.meta.dirname, 'writing-child.ts'), [cluster.brokers[0] ?? '', String(count)], {
    execArgv: ['--conditions=@waybill/source'],
  })
  cluster.serve(child)
  return child
}

/** Resolves with the end of the child, once it has acknowledged that many numbers or ended before. */
async function acknowledgements(child: ChildProcess, enough: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  child.on('message', (message: { acknowledged?: number }) => {
    if (message.acknowledged === enough - 1) resolve(enough)
  })
  child.once('exit', () => reject(new Error('The child ended too early.')))
  return promise
}

describe('a cluster in the parent of the process that uses it', () => {
  test('a child writes to it, and exits on its own once its client is closed', async () => {
    const cluster = createSimCluster()
    cluster.createTopic('numbers')
    const child = startWriter(cluster, 20)
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(cluster.partition('numbers', 0).highWatermark).toBe(20n)
  })

  test('records a child wrote before its kill -9 are there for the next one', async () => {
    const cluster = createSimCluster()
    cluster.createTopic('numbers')
    const child = startWriter(cluster, 1_000_000)
    const acknowledged = await acknowledgements(child, 5)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const left = cluster.partition('numbers', 0).highWatermark
    expect(left).toBeGreaterThanOrEqual(BigInt(acknowledged))
    const next = startWriter(cluster, 3)
    expect(await once(next, 'exit')).toEqual([0, null])
    // A number in flight when the child was killed may have arrived after the count was read.
    expect(cluster.partition('numbers', 0).highWatermark - left).toBeGreaterThanOrEqual(3n)
  })

  test('a process that was not forked gets an error that says how to fork it', () => {
    expect(() => parentTransport({ on: () => {}, once: () => {} })).toThrow(
      'Start it with fork() of node:child_process, and call cluster.serve(child) in the parent.',
    )
  })
})
