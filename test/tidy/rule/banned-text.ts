import { sourceOf } from '../source.ts'
import { type Finding, filesOf, findMatches, packageSource, type Rule } from '../tree.ts'

/** All files but generated ones and these rules, which must spell what they search for. */
const written =
  /^(?!package-lock\.json$|test\/tidy\/).*\.(?:ts|js|mjs|md|json|ya?ml|sh|sql|html|css)$|^\.ci\/|^\.github\//

/** Checks that no unfinished work is left in the tree. */
export const unfinishedRule: Rule = {
  title: 'nothing in the tree is marked as unfinished',
  why: 'A note to do it later is never read by its addressee. Do it now, or leave the code correct without it.',
  find: (tree) =>
    filesOf(tree, written).flatMap(([path, text]) =>
      findMatches(path, text, /\b(?:TODO|FIXME|XXX|HACK)\b/g, ([mark]) => `has a ${mark}`),
    ),
}

const workWords: readonly RegExp[] = [
  /\bsub-?agents?\b/gi,
  /\bhelper agents?\b/gi,
  /\b(?:this|previous|earlier|another|the next) session\b/gi,
  /\bhand-?over notes?\b/gi,
  /\bthe (?:brief|lead) (?:says|said|asks|asked|wants|wrote)\b/gi,
  /\bissue #?\d+\b/gi,
  /\bas an ai\b/gi,
  /(?<![\w.])\/(?:work|tmp\/brief|tmp\/rows|home\/\w+|Users\/\w+)\//g,
]

/** Checks that the project speaks of itself, never of how the work on it was organized. */
export const workplaceRule: Rule = {
  title: 'no file says how the work on it was organized',
  why:
    'Who did what, when and where is of no use to a reader ten years from now, and a path of one machine is wrong on ' +
    'every other. Say the reason itself; in an ADR if it is a decision.',
  find: (tree) =>
    filesOf(tree, written).flatMap(([path, text]) =>
      workWords.flatMap((pattern) => findMatches(path, text, pattern, ([said]) => `says "${said}"`)),
    ),
}

/** The default logger of the system's runtime. */
const defaultLogger = 'packages/core/src/telemetry/standard-error-logger.ts'

/** Checks that no library prints. */
export const consoleRule: Rule = {
  title: 'packages do not write to the console',
  why:
    "A library's user decides where logs go, and a command's output is data. Use the Logger of the runtime; a command " +
    'writes to the streams it was given. Only the default logger does: without it a failure would be silent.',
  find: (tree) =>
    filesOf(tree, packageSource)
      .filter(([path]) => path !== defaultLogger)
      .flatMap(([path, text]) =>
        findMatches(path, sourceOf(text).code, /(?<![\w$.])console\s*\??\./g, () => 'uses console'),
      ),
}

const publicRegistry = 'registry.npmjs.org'

/** Checks that no file names a package registry: that is a setting of each user. */
export const registryRule: Rule = {
  title: 'the lock file and the documents name no registry but the public one',
  why:
    'A lock file with the address of a private mirror cannot be installed anywhere else. Remove `resolved` from the ' +
    'lock file (npm finds the package by name and integrity) and leave the registry to the user’s own settings.',
  find: (tree) => [
    ...filesOf(tree, /(?:^|\/)package-lock\.json$/).flatMap(([path, text]) =>
      findMatches(path, text, /"resolved": "([^"]*)"/g, (match) => match[1] ?? '')
        .filter(({ message }) => /^[a-z+]+:/.test(message) && !message.startsWith(`https://${publicRegistry}/`))
        .map((finding): Finding => ({ ...finding, message: `resolves to ${finding.message}` })),
    ),
    ...filesOf(tree, /(?:^|\/)\.npmrc$/).flatMap(([path, text]) =>
      findMatches(path, text, /^.*\bregistry\s*=.*$|^.*_auth.*$/gm, () => 'sets a registry or its credentials'),
    ),
    ...filesOf(tree, /\.(?:md|ya?ml)$/).flatMap(([path, text]) =>
      findMatches(
        path,
        text,
        /\bhttps?:\/\/([\w.-]*(?:registry|artifactory|nexus|verdaccio)[\w.-]*)/gi,
        (match) => match[1] ?? '',
      )
        .filter(({ message }) => message !== publicRegistry)
        .map((finding): Finding => ({ ...finding, message: `names the registry ${finding.message}` })),
    ),
  ],
}
