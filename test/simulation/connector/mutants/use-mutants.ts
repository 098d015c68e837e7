/** Bugs of filters, of several topics, and of dynamic bindings. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector } from './files.ts'

/** See the file's comment. */
export const useMutants: readonly PlantedBug[] = [
  {
    name: 'filtered-record-counted-as-handled',
    breaks: 'A record that the filter rejects is counted as handled.',
    file: `${connector}/delivery/decide.ts`,
    find: '      return filtered\n',
    replace: '      return done\n',
  },
  {
    name: 'filter-not-heeded',
    breaks: 'A record that the filter rejects is handled.',
    file: `${connector}/handlers/record-filter.ts`,
    find: 'return answerOf(filter, record) ? undefined : filtered',
    replace: 'return answerOf(filter, record) ? undefined : undefined',
  },
  {
    name: 'derived-topics-read-as-new',
    breaks: 'An expression also matches the tiers and dead letters of its topics.',
    file: `${connector}/topics/match-topics.ts`,
    find: '.filter((name) => !derived.names.has(name) && !derived.suffixes.some((suffix) => name.endsWith(suffix)))',
    replace: '.filter((name) => !derived.names.has(name))',
  },
  {
    name: 'late-topic-never-found',
    breaks: 'A topic that matches and is created later is never read.',
    file: `${connector}/run/binding-run.ts`,
    find: '      this.#search()\n',
    replace: '',
  },
  {
    name: 'failed-registration-stays',
    breaks: 'A binding whose start fails stays registered.',
    file: `${connector}/engine/connector-engine.ts`,
    find: '      await this.#commands.remove(registered)\n',
    replace: '',
  },
  {
    name: 'taken-out-and-still-running',
    breaks: 'A binding is removed while its members and handlers still run.',
    file: `${connector}/operations/binding-commands.ts`,
    find: "if (binding.allows('destroy')) await binding.destroy({ deadlineMs })",
    replace: "binding.check('destroy')",
  },
]
