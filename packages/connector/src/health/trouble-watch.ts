/**
 * Finds conditions that should be temporary and are not: a member that cannot join its group, a partition that is owned
 * and not read, a missing topic. Kafka answers each of them with a retriable error, so they never fail.
 */

import type { ContainerStatus, MemberStatus } from '../api/binding-view.ts'

/** A condition that is a problem if it lasts. */
export interface Trouble {
  /** Identifies the condition over time. */
  readonly key: string
  readonly binding: string
  readonly what: string
  readonly hint: string
  /** The time after which it is a problem. */
  readonly patienceMs: number
}

/** A trouble that has lasted too long. Times are monotonic. */
export interface LastingTrouble extends Trouble {
  readonly sinceMs: number
}

/** The part of a binding that is checked. */
export interface TroubledBinding {
  readonly name: string
  readonly containers: readonly ContainerStatus[]
  readonly isMissing: (topic: string) => boolean
}

/** Opening a partition takes a few requests, and moving a coordinator takes seconds. */
const unreadPatienceMs = 30_000

/** Remembers the start time of each trouble. */
export class TroubleWatch {
  #since: ReadonlyMap<string, number> = new Map()

  /** Returns the troubles that have lasted too long. */
  check(troubles: readonly Trouble[], nowMs: number): readonly LastingTrouble[] {
    const lasting = troubles.map((trouble) => ({ ...trouble, sinceMs: this.#since.get(trouble.key) ?? nowMs }))
    this.#since = new Map(lasting.map(({ key, sinceMs }) => [key, sinceMs]))
    return lasting.filter(({ sinceMs, patienceMs }) => nowMs - sinceMs >= patienceMs)
  }
}

/** Returns the current troubles of a binding. Failed members are left out: health reports them by their state. */
export function troublesOf(binding: TroubledBinding, stallAfterMs: number): readonly Trouble[] {
  return binding.containers.flatMap((container) => [
    ...missingTopic(binding, container),
    ...container.members
      .filter(({ state }) => state === 'RUNNING')
      .flatMap((member) => [
        ...noPlace(binding, container, member, stallAfterMs),
        ...unread(binding, container, member),
      ]),
  ])
}

function missingTopic({ name, isMissing }: TroubledBinding, { place }: ContainerStatus): readonly Trouble[] {
  if (!isMissing(place.topic)) return []
  return [
    {
      key: `${name} ${place.topic} missing`,
      binding: name,
      what: `Binding ${name}: topic ${place.topic} no longer exists.`,
      hint: 'Re-create it: reading continues by itself. Records that were not read are lost.',
      patienceMs: 0,
    },
  ]
}

function noPlace(
  { name }: TroubledBinding,
  { place }: ContainerStatus,
  { index, hasPlace }: MemberStatus,
  stallAfterMs: number,
): readonly Trouble[] {
  if (hasPlace) return []
  return [
    {
      key: `${name} ${place.name} ${index} placeless`,
      binding: name,
      what: `Binding ${name}: member ${index} of ${place.name} cannot join group ${place.groupId}.`,
      hint: 'It retries by itself. Check the coordinator of the group, and whether its other members respond.',
      patienceMs: stallAfterMs,
    },
  ]
}

function unread({ name }: TroubledBinding, { place }: ContainerStatus, member: MemberStatus): readonly Trouble[] {
  return member.unread.map(({ topic, partition, why }) => ({
    key: `${name} ${topic} ${partition} unread`,
    binding: name,
    what: `Binding ${name}, ${topic}-${partition}: owned by member ${member.index} of ${place.name}, not read: ${why}`,
    hint:
      'No record is lost. Check the topic, its ACLs and its group. With orderingMode KEY the waiting topic needs as ' +
      'many partitions as its source; a restart with derivedTopics CREATE adds them.',
    patienceMs: unreadPatienceMs,
  }))
}
