import { decodeAssignment } from '@waybill/kafka/wire'
import type { ConnectorProcess } from './connector-process.ts'
import { placesOf } from './places.ts'
import { headerText } from './topic-log.ts'
import type { World } from './world.ts'

/** Describes the logs and processes, to find the reason of a stall. */
export function describeWorld(world: World, processes: readonly ConnectorProcess[]): string {
  const lines: string[] = ['']
  for (const log of world.logs.values())
    for (const record of log.records) {
      const headers = record.headers
        .map(([name, value]) => `${name.replace('x-eventbus-', '')}=${value?.toString() ?? null}`)
        .join(' ')
      lines.push(
        `${log.topic}-${log.partition}@${record.offset} ${record.key?.toString() ?? null} ${headerText(record, 'id') ?? ''} ${headers.slice(0, 400)}`,
      )
    }
  for (const process of processes)
    for (const binding of process.isStarted ? process.connector.listBindings() : [])
      for (const { place, members } of binding.containers)
        for (const { index, state, failure, partitions } of members)
          lines.push(
            `${process.name} ${binding.state} ${binding.pausedBy.join()} ${place.name} ${index} ${state} ${failure} ${JSON.stringify(partitions, shown)}`,
          )
  for (const groupId of new Set(world.program.bindings.flatMap(placesOf).map((place) => place.groupId)))
    if (groupId !== '') lines.push(describeGroup(world, groupId))
  return lines.join('\n')
}

function describeGroup({ cluster }: World, groupId: string): string {
  const { state, generation, members } = cluster.group(groupId)
  const owned = members.map(
    ({ memberId, assignment }) =>
      `${memberId}: ${assignment.length === 0 ? '' : JSON.stringify(decodeAssignment(assignment))}`,
  )
  return `group ${groupId} ${state} ${generation} ${owned.join(' ')}`
}

function shown(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value
}
