import assert from 'node:assert/strict'
import type { AuditRow, BindingView, Connector, ContainerState } from '@waybill/connector'
import type { ContainerPlace } from '@waybill/connector/internal'
import { ArgumentError, StateError } from '@waybill/core'
import { showValue } from '@waybill/core/option'
import type { KafkaClient } from '@waybill/kafka'
import { requireMethods } from '../require-argument.ts'
import { type EventuallyOptions, eventually } from '../wait/eventually.ts'
import { type TopicEnd, topicEnds } from './topic-ends.ts'

/** A topic that a binding reads, with its end offsets. */
interface ReadTopic {
  readonly binding: string
  readonly state: ContainerState
  readonly place: Pick<ContainerPlace, 'topic' | 'groupId'>
  readonly ends: readonly TopicEnd[]
}

/**
 * Waits until every record that the bindings of a connector can read has its outcome, in the topics and in their tiers,
 * and that outcome is committed: handled, or a dead letter, and none in progress. Resolves with the audit of that
 * moment. Works with any handlers, because it reads the clusters and not the handlers.
 *
 * `clusters` are those of the connector. The error names the records that a paused or failing binding blocks.
 */
export async function waitUntilSettled(
  connector: Pick<Connector, 'audit' | 'listBindings'>,
  clusters: Readonly<Record<string, KafkaClient>>,
  options?: EventuallyOptions,
): Promise<readonly AuditRow[]> {
  requireMethods(
    'waitUntilSettled()',
    'a connector',
    connector,
    ['audit', 'listBindings'],
    'Pass the result of createConnector().',
  )
  const hint =
    'Give waitUntilSettled() the clusters of the connector too: waitUntilSettled(connector, { default: kafka }).'
  if (typeof clusters !== 'object' || clusters === null)
    throw new ArgumentError(`waitUntilSettled() takes the clusters of the connector, got ${showValue(clusters)}.`, {
      hint,
    })
  return eventually(async () => {
    // Read the commits before the ends: a record that moves to a tier in between is then beyond the tier's commit.
    const rows = await connector.audit()
    const topics = await Promise.all(connector.listBindings().flatMap((view) => topicsOf(view, clusters)))
    const open = topics.flatMap((topic) => openIn(topic, rows))
    assert.ok(open.length === 0, `Not every record is settled: ${open.join('; ')}.`)
    return rows
  }, options)
}

function topicsOf(view: BindingView, clusters: Readonly<Record<string, KafkaClient>>): Promise<ReadTopic>[] {
  const { name, cluster, state, containers } = view
  const client = clusters[cluster]
  if (client === undefined)
    throw new StateError(`Binding '${name}' reads from cluster '${cluster}', which was not passed.`, {
      hint: 'Pass waitUntilSettled() the clusters of the connector.',
    })
  if (containers.length === 0)
    throw new StateError(`Binding '${name}' is ${state}, so none of its records are settled.`, {
      hint: 'Start it first.',
    })
  const binding = cluster === 'default' ? name : `${cluster}:${name}`
  return containers.map(async ({ place }) => ({ binding, state, place, ends: await topicEnds(client, place.topic) }))
}

/** Describes the unsettled records of a topic, one line per partition. */
function openIn({ binding, state, place, ends }: ReadTopic, rows: readonly AuditRow[]): string[] {
  const { topic, groupId } = place
  return ends.flatMap(({ partition, offset }) => {
    const row = rows.find(
      (one) => one.binding === binding && one.topic === topic && one.groupId === groupId && one.partition === partition,
    )
    const where = `${topic}-${partition} of '${binding}'${state === 'RUNNING' ? '' : `, which is ${state},`}`
    if ((row?.committed ?? 0n) < offset) return [`${where} is settled up to ${row?.committed ?? 0n} of ${offset}`]
    if (row === undefined) return []
    if (row.waiting > 0n) return [`in ${where} ${recordsOf(row.waiting)} waiting for earlier records of their key`]
    if (row.missing > 0n) return [`of ${where} ${recordsOf(row.missing)} missing`]
    return row.problem === undefined ? [] : [`of ${where} ${row.problem}`]
  })
}

function recordsOf(count: bigint): string {
  return count === 1n ? '1 record is' : `${count} records are`
}
