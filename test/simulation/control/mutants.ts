/** Bugs of the control of a fleet, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { type PlantedBug, withRecordedSeeds } from '../world/recorded-seeds.ts'

const fleet = 'packages/connector/src/fleet'

const bugs: readonly PlantedBug[] = [
  {
    name: 'missed-commands-not-obeyed',
    breaks: 'An instance that missed a command keeps its state.',
    file: `${fleet}/own-instance.ts`,
    find: 'if (desired.open !== undefined) continue',
    replace: 'if (desired.open === undefined) continue',
  },
  {
    name: 'refused-commands-count',
    breaks: 'A command that all instances refused is desired.',
    file: `${fleet}/fleet-state.ts`,
    find: "if (isOver || isComplete) return answers.size === 0 ? 'COUNTS' : 'REFUSED'",
    replace: "if (isOver || isComplete) return 'COUNTS'",
  },
  {
    name: 'old-commands-applied',
    breaks: 'An instance applies commands from before its start.',
    file: `${fleet}/fleet-control-engine.ts`,
    find: "if (entry.kind !== 'COMMAND' || !own.isPresent(state)) return",
    replace: "if (entry.kind !== 'COMMAND') return",
  },
  {
    name: 'silence-taken-for-consent',
    breaks: 'An instance that did not answer is said to have followed.',
    file: `${fleet}/fleet-members.ts`,
    find: "outcome: 'NO_ANSWER',",
    replace: "outcome: 'APPLIED',",
  },
  {
    name: 'starts-before-the-log-is-read',
    breaks: 'An instance starts its bindings before it knows what is desired.',
    file: `${fleet}/fleet-control-engine.ts`,
    find: 'if (reach.isKnown && this.#own?.isPresent(state) !== false) {',
    replace: 'if (reach.trouble === undefined) {',
  },
  {
    name: 'snapshots-not-read',
    breaks: 'What was desired is forgotten with the command that said it.',
    file: `${fleet}/fleet-state.ts`,
    find: 'let desired: DesiredBinding = { state: snapshot?.entry.state, tiers: tiersOf(snapshot?.entry.tiers) }',
    replace: 'let desired: DesiredBinding = { state: undefined, tiers: tiersOf(snapshot?.entry.tiers) }',
  },
  {
    name: 'snapshots-cover-later-commands',
    breaks: 'A desired state says that it includes commands that came after it.',
    file: `${fleet}/fleet-state.ts`,
    find: 'upTo: `${upTo}`, by }',
    replace: 'upTo: `${upTo + 20n}`, by }',
  },
  {
    name: 'followed-commands-do-not-count',
    breaks: 'A command that some instances refused does not count, although others followed it.',
    file: `${fleet}/fleet-state.ts`,
    find: "if (isReached(entry.command as never, answer)) return 'COUNTS'",
    replace: 'if (isReached(entry.command as never, answer)) continue',
  },
  {
    name: 'refusals-believed',
    breaks: 'An instance that refused a command takes it for followed.',
    file: `${fleet}/own-instance.ts`,
    find: 'if (isDesire(entry.command) && isReached(entry.command, answer)) {',
    replace: 'if (isDesire(entry.command)) {',
  },
  {
    name: 'refusals-told-as-success',
    breaks: 'The refusal of another instance is answered as followed.',
    file: `${fleet}/fleet-submitter.ts`,
    find: '    outcome,\n    state,\n    ...(error',
    replace: "    outcome: 'APPLIED',\n    state,\n    ...(error",
  },
  {
    name: 'unknown-told-as-not-submitted',
    breaks: 'A command that may be in the log is said not to be.',
    file: `${fleet}/fleet-submitter.ts`,
    find: 'if (written === undefined) throw new CommandUnknownError(command.type, target.binding, failure)',
    replace: "if (written === undefined) throw new ControlUnreachableError('it was not confirmed')",
  },
  {
    name: 'instances-not-called-back',
    breaks: 'Instances stay out of their groups after positions were moved.',
    file: `${fleet}/fleet-positions.ts`,
    find: "command: { type: 'BACK', away: away.id },",
    replace: "command: { type: 'BACK', away: 'another' },",
  },
  {
    name: 'asking-claims-to-have-obeyed',
    breaks: 'An instance that is asked what is desired believes that it has established it.',
    file: `${fleet}/own-instance.ts`,
    find: 'if (!this.#beliefs.has(targetKey(target))) this.#believe(target, desired)',
    replace: 'this.#believe(target, desired)',
  },
  {
    name: 'open-commands-decided-by-the-submitter',
    breaks: 'A submitter writes a desired state while answers may still come.',
    file: `${fleet}/fleet-submitter.ts`,
    find: 'if (follower.state.desired(target, hasEnded, upTo).open !== undefined) return',
    replace: 'void hasEnded',
  },
]

/** The seeds that find the mutants. `npm run sim -- control --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All mutants of the control of a fleet. */
export const controlMutants: readonly Mutant[] = withRecordedSeeds(bugs, seedFile)
