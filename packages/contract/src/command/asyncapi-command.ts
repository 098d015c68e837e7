import { asyncApiOf } from '../asyncapi/async-api.ts'
import { loadCatalogs } from '../repository/load-catalogs.ts'
import { type Command, type CommandContext, type ExitCode, type GivenOptions, wrongUse } from './command.ts'
import { sharedOptions } from './contract-options.ts'

/** Prints the AsyncAPI document of catalogs. */
export const asyncApiCommand: Command = {
  name: 'asyncapi',
  about: 'prints the AsyncAPI 3 document of event catalogs',
  examples: ["waybill-contract asyncapi --catalog src/events.ts --title Orders --sends '*' > asyncapi.json"],
  options: {
    title: { type: 'string', takes: 'TEXT', about: 'the title of the document (Events)' },
    release: { type: 'string', takes: 'VERSION', about: 'the version of the document (1.0.0)' },
    sends: {
      type: 'string',
      multiple: true,
      takes: 'EVENT',
      about: 'an event that the service publishes, or * for all; may be repeated',
    },
    receives: {
      type: 'string',
      multiple: true,
      takes: 'EVENT',
      about: 'an event that the service consumes, or * for all; may be repeated',
    },
    catalog: sharedOptions.catalog,
    help: sharedOptions.help,
  },
  run: print,
}

async function print({ texts, lists, words }: GivenOptions, context: CommandContext): Promise<ExitCode> {
  const paths = lists['catalog'] ?? []
  if (paths.length === 0) return wrongUse(context, 'asyncapi needs --catalog, such as --catalog src/events.ts.')
  if (words.length > 0) return wrongUse(context, `asyncapi takes options only, not ${words.join(' ')}.`)
  const { title = 'Events', release } = texts
  const catalogs = (await loadCatalogs(context.cwd, paths)).map(({ catalog }) => catalog)
  const document = asyncApiOf(catalogs, {
    title,
    version: release,
    sends: lists['sends'],
    receives: lists['receives'],
  })
  context.out(`${JSON.stringify(document, null, 2)}\n`)
  return 0
}
