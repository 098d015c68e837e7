/** Feeds or rebuilds a read model in a process of its own, which may kill itself at a failpoint. */

import { createConnector } from '@waybill/connector'
import { applicationOperator, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createProjector, createRebuild } from '@waybill/projection'
import { createProjectionStore } from '@waybill/sql'
import { openDatabase } from '../../outbox/support/open-database.ts'
import { creditProjection } from './credit-events.ts'
import type { ProjectionMessage, ProjectionTask } from './projection-task.ts'

const task = JSON.parse(process.argv[2] ?? '') as ProjectionTask
const tell = (message: ProjectionMessage): void => void (process.connected && process.send?.(message))
const onOrphaned = (): never => process.exit(1)
process.once('disconnect', onOrphaned)
let batches = 0

const failpoint = (name: string): void | Promise<void> => {
  if (name === 'handler.after') batches++
  const { killAt } = task
  if (name !== killAt?.point || batches < killAt.batches) return undefined
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

const runtime = runtimeWith({ failpoint })
const [projection, ...previous] = task.revisions.map((revision) => creditProjection(task.topic, revision)) as [
  ReturnType<typeof creditProjection>,
  ...ReturnType<typeof creditProjection>[],
]
const asked = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()))
{
  await using open = openDatabase(task.database)
  await using kafka = createKafkaClient({ brokers: task.brokers })
  const store = createProjectionStore(open.database)
  await (task.does === 'PROJECT' ? project() : rebuild())

  async function project(): Promise<void> {
    const projector = createProjector(projection, { store, previous, runtime })
    const connector = createConnector({
      clusters: { default: kafka },
      bindings: {
        credits: projector.binding({
          groupId: task.groupId,
          ...(task.maxPollRecords === undefined ? {} : { maxPollRecords: task.maxPollRecords }),
          sessionTimeoutMs: 6_000,
          heartbeatIntervalMs: 500,
        }),
      },
      runtime,
    })
    await connector.start()
    tell({ kind: 'RUNNING' })
    await asked
    await connector.stop()
  }

  async function rebuild(): Promise<void> {
    const options = { store, kafka, previous, switch: 'WHEN_READY', runtime } as const
    for await (const { state, applied, remaining } of createRebuild(projection, options).run(applicationOperator()))
      tell({ kind: 'BUILT', state, applied, remaining: Number(remaining) })
  }
}
process.off('disconnect', onOrphaned)
process.disconnect()
