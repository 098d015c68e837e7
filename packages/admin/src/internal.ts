/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export { Grants } from './access/access.ts'
export { isLocalRequest } from './access/loopback.ts'
export { allPermissions } from './access/permission.ts'
export { accepts, mediaTypeOf } from './http/media-type.ts'
export { type Problem, problemOf, problemResponse } from './problem/problem.ts'
