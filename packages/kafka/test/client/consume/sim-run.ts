import { createMemoryLogger, type MemoryLogger } from '@waybill/core'
import { createSimCluster, createVirtualRuntime, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { type Interceptor, intercepted } from '@waybill/test-support/kafka'
import { eventually } from '@waybill/testkit'
import { expect } from 'vitest'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import { simPlace } from './sim-place.ts'
import { TestCluster } from './test-cluster.ts'

/** A simulated cluster in virtual time, and what a test does with it. */
export interface SimRun {
  readonly sim: SimCluster
  readonly runtime: VirtualRuntime
  readonly cluster: TestCluster
  readonly logger: MemoryLogger
  readonly sleep: (ms: number) => Promise<void>
  readonly eventually: (assertion: () => void) => Promise<void>
  /** Resolves when so many partitions are owned and announced by onAssigned. */
  readonly owning: (consumer: Consumer, count: number) => Promise<void>
}

const pass: Interceptor = (_api, _request, send) => send()

/** Runs a program in virtual time. Everything its clients send goes through the interceptor. */
export async function simRun(
  program: (run: SimRun) => Promise<void>,
  options: { seed?: number; brokers?: number; intercept?: Interceptor } = {},
): Promise<void> {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(options.seed ?? 1, { logger })
  await runtime.run(async () => {
    const sim = createSimCluster({ brokers: options.brokers ?? 1, runtime })
    const place = simPlace(sim, runtime)
    await using cluster = new TestCluster({
      ...place,
      transport: (client) =>
        client === 'test' ? place.transport(client) : intercepted(place.transport(client), options.intercept ?? pass),
    })
    const soon = (assertion: () => void): Promise<void> => eventually(assertion, { runtime, deadlineMs: 60_000 })
    await program({
      sim,
      runtime,
      cluster,
      logger,
      eventually: soon,
      sleep: (ms) => runtime.timers.sleep(ms),
      owning: (consumer, count) =>
        soon(() =>
          expect(consumer.assignment().filter((one) => consumer.position(one) !== undefined)).toHaveLength(count),
        ),
    })
  })
}
