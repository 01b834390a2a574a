# SPDX-License-Identifier: Apache-2.0
"""The door from PyTorch.

``capture`` makes a forward-only graph of ATen operators of a module or of Dynamo's
graph, ``layers`` finds the repeated layers in it, ``program`` and ``operators`` write
it as a module of act, and ``function`` runs that under PyTorch's autograd.
"""
