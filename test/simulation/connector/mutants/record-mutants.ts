/** Bugs of retry records and dead letters. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector, derivedHeaders, hop, recordMover } from './files.ts'

/** See the file's comment. */
export const recordMutants: readonly PlantedBug[] = [
  {
    name: 'attempt-not-carried',
    breaks: 'Each delivery in a tier counts as the first.',
    file: recordMover,
    find: 'retryRecord(hop, { topic, tier, attempt })',
    replace: 'retryRecord(hop, { topic, tier, attempt: Math.min(1, attempt) })',
  },
  {
    name: 'calls-not-added-up',
    breaks: 'A record reports the calls of its last delivery only.',
    file: hop,
    find: 'trail.totalAttempts + (failure?.attempts ?? 0)',
    replace: 'Math.min(0, trail.totalAttempts) + (failure?.attempts ?? 0)',
  },
  {
    name: 'coordinates-of-the-last-hop',
    breaks: 'A dead letter names the place of the last failure, not the original one.',
    file: derivedHeaders,
    find: 'const { original, replayCount } = hop.trail',
    replace: 'const { replayCount } = hop.trail\n  const original = hop.record',
  },
  {
    name: 'headers-pile-up',
    breaks: 'Headers of the engine are added at each hop beside those that are there.',
    file: derivedHeaders,
    find: 'copying((header) => !isEngineHeader(header))',
    replace: 'copying((header) => isEngineHeader(header) || true)',
  },
  {
    name: 'forged-headers-believed',
    breaks: 'Retry headers of a source record are trusted.',
    file: `${connector}/records/trail.ts`,
    find: 'const believed = believedClaims(record, kind, groupId)',
    replace: "const believed = believedClaims(record, kind === 'SOURCE' ? 'TIER' : kind, groupId)",
  },
  {
    name: 'forged-replays-skipped',
    breaks: 'A record with the headers of a replay for another group is skipped, whatever its original is.',
    file: `${connector}/delivery/verify-replay.ts`,
    find: "compareWithOriginal(record, reading.found) === 'COPY'",
    replace: 'compareWithOriginal(record, reading.found) !== undefined',
  },
]
