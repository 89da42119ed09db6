"""geometric-kernels and GPyTorch: the graph Matern Gaussian process (Borovitskiy et al. 2021).

Classes are fitted by GPyTorch's Dirichlet likelihood (Milios et al. 2018), which is exact for
K classes. Variance and length scale are chosen by the evidence; nu is 1.5, the package's default is
infinite.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from benchmarks.trust.peers.task import RANK, Answer, SkippedError, Task

MOST = 3000  # it makes the graph dense
STEPS, RATE, DRAWS, NU = 100, 0.1, 256, 1.5
BLOCK = 200  # nodes at a time: covariances of all would fill the memory


def graph_matern(task: Task) -> Answer:
    import geometric_kernels.torch  # noqa: F401  (chooses its backend)
    import gpytorch
    import torch
    from geometric_kernels.frontends.gpytorch import GPyTorchGeometricKernel
    from geometric_kernels.kernels import MaternGeometricKernel
    from geometric_kernels.spaces import Graph

    n, n_classes = task.problem.graph.n_nodes, task.problem.n_classes
    if n > MOST:
        raise SkippedError(f"more than {MOST} nodes")
    torch.set_num_threads(1)
    A = sparse.csr_array(task.problem.graph.adjacency).toarray()
    space = Graph(torch.tensor((A + A.T) / 2), normalize_laplacian=True)
    nodes = torch.tensor(task.labels.nodes)[:, None]
    likelihood = gpytorch.likelihoods.DirichletClassificationLikelihood(
        torch.tensor(task.labels.indices), learn_additional_noise=False, dtype=torch.float64
    )
    shape = torch.Size([n_classes])

    class OneForAll(GPyTorchGeometricKernel):
        """The kernel of one class, which all classes share: GPyTorch repeats the nodes for each."""

        def forward(self, x1: torch.Tensor, x2: torch.Tensor, **settings: bool) -> torch.Tensor:
            x1, x2 = (x.reshape(-1, *x.shape[-2:])[0] for x in (x1, x2))
            return super().forward(x1, x2, **settings)

    class Model(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(nodes, likelihood.transformed_targets, likelihood)
            self.mean = gpytorch.means.ConstantMean(batch_shape=shape)
            matern = OneForAll(
                MaternGeometricKernel(space, num=min(RANK, n - 1), normalize=True), nu=NU
            )
            self.kernel = gpytorch.kernels.ScaleKernel(matern, batch_shape=shape)

        def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    model = Model().double().train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = -evidence(model(nodes), likelihood.transformed_targets).sum()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        fields = [model(block[:, None]) for block in torch.arange(n).split(BLOCK)]
        mean = torch.cat([field.mean for field in fields], dim=1).numpy()
        variance = torch.cat([field.variance for field in fields], dim=1).numpy()
    rng = np.random.default_rng(task.seed)
    total = np.zeros((n, n_classes))
    for _ in range(DRAWS):  # gamma variables of the Dirichlet law are log-normal here
        u = mean + np.sqrt(np.maximum(variance, 0)) * rng.normal(size=mean.shape)
        weights = np.exp(u - u.max(axis=0))
        total += (weights / weights.sum(axis=0)).T
    return Answer(total / DRAWS)
