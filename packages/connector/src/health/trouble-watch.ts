/**
 * Finds what should pass by itself and does not: a member without a place in its group, a partition that is owned and not
 * read, a source that is gone. Kafka answers each of these with "try again", so no error ever comes of them.
 */

import type { ContainerStatus, MemberStatus } from '../api/binding-view.ts'

/** What may be wrong at one moment. */
export interface Trouble {
  /** The same as long as it is the same thing. */
  readonly key: string
  readonly binding: string
  readonly what: string
  readonly hint: string
  /** How long it may last before it is one. */
  readonly patienceMs: number
}

/** A trouble that has lasted; monotonic. */
export interface LastingTrouble extends Trouble {
  readonly sinceMs: number
}

/** A binding as far as it can be in trouble. */
export interface TroubledBinding {
  readonly name: string
  readonly containers: readonly ContainerStatus[]
  readonly isMissing: (topic: string) => boolean
}

/** Opening a partition takes some requests; a coordinator that moves takes seconds. */
const unreadPatienceMs = 30_000

/** Remembers since when each trouble lasts. */
export class TroubleWatch {
  #since: ReadonlyMap<string, number> = new Map()

  /** Answers those that have lasted for longer than they may. */
  look(troubles: readonly Trouble[], nowMs: number): readonly LastingTrouble[] {
    const lasting = troubles.map((trouble) => ({ ...trouble, sinceMs: this.#since.get(trouble.key) ?? nowMs }))
    this.#since = new Map(lasting.map(({ key, sinceMs }) => [key, sinceMs]))
    return lasting.filter(({ sinceMs, patienceMs }) => nowMs - sinceMs >= patienceMs)
  }
}

/** What may be wrong with a binding now. Of a member that failed health knows more than this. */
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
      what: `Binding ${name}: topic ${place.topic} does not exist any more.`,
      hint: 'Create it again: reading goes on by itself. What was in it and not read is lost.',
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
      what: `Binding ${name}: member ${index} of ${place.name} finds no place in group ${place.groupId}.`,
      hint: 'It tries again by itself. Check the coordinator of the group, and whether its other members answer.',
      patienceMs: stallAfterMs,
    },
  ]
}

function unread({ name }: TroubledBinding, { place }: ContainerStatus, member: MemberStatus): readonly Trouble[] {
  return member.unread.map(({ topic, partition, why }) => ({
    key: `${name} ${topic} ${partition} unread`,
    binding: name,
    what: `Binding ${name}, ${topic}-${partition}: it is owned by member ${member.index} of ${place.name} and not read: ${why}`,
    hint:
      'Nothing of it is lost. Check the topic, its rights and its group; with orderingMode KEY the waiting topic needs ' +
      'every partition that its source has, which a restart with derivedTopics CREATE brings about.',
    patienceMs: unreadPatienceMs,
  }))
}
