/** Bugs of events that wait for unavailable destinations (I23). */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { deliverInPlace, delivery, destinations, parkedKeys, poller } from './files.ts'

/** See the file's comment. */
export const roadMutants: readonly PlantedBug[] = [
  {
    name: 'outage-spends-attempts',
    breaks: 'A failure of the destination spends an attempt of the event.',
    file: delivery,
    find: 'outcome = waitAfter(thrown, row) ?? decide(thrown, row)',
    replace: 'outcome = decide(thrown, row)',
  },
  {
    name: 'event-alike-never-found-out',
    breaks: 'An event that only looks like an outage spends no attempt while others are delivered.',
    file: destinations,
    find: 'if (isFoundOut) {',
    replace: 'if (isFoundOut && before === undefined) {',
  },
  {
    name: 'probe-storm',
    breaks: 'Every event probes an unavailable destination.',
    file: destinations,
    find: 'if (probe !== undefined || now < nextProbeAt) return false',
    replace: 'if (probe !== undefined && now < nextProbeAt) return false',
  },
  {
    name: 'destination-never-reopened',
    breaks: 'A destination stays unavailable after a probe was delivered.',
    file: destinations,
    find: '|| closed.probe === event.eventId)) this.#open(closed)',
    replace: '&& closed.probe !== event.eventId)) this.#open(closed)',
  },
  {
    name: 'waiting-key-overtaken',
    breaks: 'A later event of a key with an open destination overtakes one that waits.',
    file: parkedKeys,
    find: 'if (row.key !== null) this.#keys.set(',
    replace: 'if (row.key !== row.key) this.#keys.set(',
  },
  {
    name: 'same-page-read-over-and-over',
    breaks: 'In `ordered` a page that brings nothing new is read again at once, for as long as an outage lasts.',
    file: poller,
    find: 'const fullness = isInSequence && isStalled ?',
    replace: 'const fullness = isInSequence && isStalled && limit < 0 ?',
  },
  {
    name: 'ordered-probes-without-backoff',
    breaks: 'In `ordered` the first event is tried again without being admitted as the probe.',
    file: deliverInPlace,
    find: 'const outcome = waitOf(row) ?? (await deliver(',
    replace: 'const outcome = (repeats < 0 ? waitOf(row) : undefined) ?? (await deliver(',
  },
]
