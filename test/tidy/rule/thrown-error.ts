import { sourceOf } from '../source.ts'
import { filesOf, findMatches, packageSource, type Rule } from '../tree.ts'

/** Places where a foreign error class is right, and why. */
const exceptions: readonly { readonly path: string; readonly match: string; readonly why: string }[] = [
  {
    path: 'packages/core/src/errors.ts',
    match: 'extends Error',
    why: 'WaybillError is the one class that extends Error',
  },
]

/** Checks that packages throw only their own errors. */
export const thrownErrorRule: Rule = {
  title: 'packages make only errors of their own classes',
  why:
    'An operator reads these errors: each says what happened, what was not lost and what to do next, under a code ' +
    'that never changes. A bare Error says none of it. Throw a subclass of WaybillError; ArgumentError and ' +
    'StateError stand for TypeError and RangeError.',
  find: (tree) =>
    filesOf(tree, packageSource).flatMap(([path, text]) =>
      findMatches(
        path,
        sourceOf(text).code,
        /(?:\bnew\s+|(?<=\bthrow\s+)|\bextends\s+)(?:Error|TypeError|RangeError|SyntaxError|EvalError|URIError|AggregateError)\b/g,
        ([match]) => match,
      )
        .filter(({ message }) => !exceptions.some((allowed) => allowed.path === path && allowed.match === message))
        .map((finding) => ({
          ...finding,
          message: `has \`${finding.message}\`: use a class that extends WaybillError`,
        })),
    ),
}
